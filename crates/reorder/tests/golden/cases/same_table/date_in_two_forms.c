// The texts stand for one date.
// schema: CREATE TABLE day (d_day DATE PRIMARY KEY, d_count INTEGER);
// expect: unchanged
// keeps: same table, `day`
#include "shop.h"

long pay(struct db *db)
{
    long total;

    db_begin(db);
    db_run(db, "UPDATE day SET d_count = d_count + 1 WHERE d_day = '2026-01-02'");
    total = db_number(db, "SELECT d_count FROM day WHERE d_day = DATE '2026-1-2'");
    db_commit(db);
    return total;
}
