// Two cascades lead from the region to the bill.
// schema: CREATE TABLE visit (v_id INTEGER PRIMARY KEY, v_region INTEGER REFERENCES region (r_id) ON DELETE CASCADE);
// schema: CREATE TABLE bill (b_visit INTEGER REFERENCES visit (v_id) ON DELETE SET NULL, b_n INTEGER);
// expect: unchanged
// keeps: trigger, `region`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "DELETE FROM region WHERE r_id = 1");
    db_run(db, "UPDATE bill SET b_n = 3 WHERE b_visit IS NULL");
    db_commit(db);
}
