// The enumeration has no sign, so that no value of it is above -1: the helper returns 0 for a query
// that has failed.
// server: mysql
// function: pay
// expect: unchanged
// keeps: exit, a query without a check
#include "shop.h"

#pragma GCC diagnostic ignored "-Wsign-compare"

enum status { DONE, FAILED };

static int step(struct db *db, const char *sql)
{
    enum status status = DONE;

    if (db_run(db, sql))
        status = FAILED;
    if (status == FAILED && status > -1)
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
