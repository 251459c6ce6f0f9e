// The helper returns enumerators as numbers, one of them below zero.
// function: pay
// expect: moves
#include "shop.h"

enum { DONE = 0, FAILED = -1 };

static int step(struct db *db, const char *sql)
{
    if (db_run(db, sql))
        return FAILED;
    return DONE;
}

int pay(struct db *db)
{
    int rc;

    db_begin(db);
    rc = step(db, "INSERT INTO sale VALUES (1, 2, 3, 'x')");
    if (rc != DONE)
        goto fail;
    rc = step(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (rc == FAILED)
        goto fail;
    db_commit(db);
    return DONE;
fail:
    db_rollback(db);
    return FAILED;
}
