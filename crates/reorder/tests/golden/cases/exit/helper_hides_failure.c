// The helper returns the same for a query that has failed and for one that has changed rows, so that
// the transaction goes on behind a failure that has rolled back.
// server: mysql
// function: pay
// expect: unchanged
// keeps: exit, a query without a check
#include "shop.h"

static int step(struct db *db, const char *sql)
{
    int rows = db_rows(db, sql);

    if (rows == 0)
        return -1;
    return 0;
}

int pay(struct db *db)
{
    db_begin(db);
    if (step(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1") != 0)
        goto fail;
    if (db_run(db, "INSERT INTO sale VALUES (1, 2, 3, 'x')"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
