// The cascade is one of the key, which the update does not change.
// schema: CREATE TABLE visit (v_id INTEGER PRIMARY KEY, v_region INTEGER REFERENCES region (r_id) ON UPDATE CASCADE);
// expect: moves
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE visit SET v_region = v_region WHERE v_id = 3");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_commit(db);
}
