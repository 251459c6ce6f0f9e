// The helper drops the status of its first query and returns that of its second one.
// server: mysql
// function: pay
// expect: unchanged
// keeps: exit, a query without a check
#include "shop.h"

static int step(struct db *db, const char *sql)
{
    db_run(db, "UPDATE item SET i_stock = i_stock - 1 WHERE i_id = 7");
    return db_run(db, sql);
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
