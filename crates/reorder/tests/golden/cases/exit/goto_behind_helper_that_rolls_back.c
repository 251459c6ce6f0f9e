// The helper has rolled back, and the jump leads to a query, not to the end.
// function: pay
// server: sqlite
// expect: unchanged
// keeps: barrier, it rolls back, and the transaction goes on
#include "shop.h"

static int step(struct db *db, const char *sql)
{
    if (db_run(db, sql)) {
        db_rollback(db);
        return -1;
    }
    return 0;
}

int pay(struct db *db)
{
    int rc;

    db_begin(db);
    rc = step(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (rc != 0)
        goto next;
    rc = step(db, "UPDATE item SET i_stock = i_stock - 1 WHERE i_id = 3");
next:
    if (db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2")) {
        db_rollback(db);
        return -1;
    }
    db_commit(db);
    return 0;
}
