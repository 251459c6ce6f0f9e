// A query of the whole table reads the rows of its parts.
// schema: CREATE TABLE visit (v_id INTEGER, v_day INTEGER) PARTITION BY RANGE (v_day);
// schema: CREATE TABLE visit_1 PARTITION OF visit FOR VALUES FROM (1) TO (32);
// expect: unchanged
#include "shop.h"

long pay(struct db *db)
{
    long total;

    db_begin(db);
    db_run(db, "UPDATE visit_1 SET v_id = 1 WHERE v_day = 7");
    total = db_number(db, "SELECT count(*) FROM visit WHERE v_id = 1");
    db_commit(db);
    return total;
}
