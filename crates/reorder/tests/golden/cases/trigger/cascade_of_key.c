// schema: CREATE TABLE visit (v_region INTEGER REFERENCES region (r_id) ON UPDATE CASCADE);
// expect: unchanged
// keeps: trigger, `region`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_id = 4 WHERE r_id = 1");
    db_run(db, "DELETE FROM visit WHERE v_region = 4");
    db_commit(db);
}
