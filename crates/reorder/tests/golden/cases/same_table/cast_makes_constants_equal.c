// Both casts give '1': the constants name one row.
// server: mysql
// expect: unchanged
// keeps: same table, `shop`
#include "shop.h"

long pay(struct db *db)
{
    long total;

    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = CAST(12 AS CHAR(1))");
    total = db_number(db, "SELECT s_total FROM shop WHERE s_id = CAST(13 AS CHAR(1))");
    db_commit(db);
    return total;
}
