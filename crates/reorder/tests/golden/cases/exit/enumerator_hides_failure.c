// The helper has a third enumerator for a query that has failed, and the condition asks for another
// one: the transaction goes on behind a failure.
// function: pay
// expect: unchanged
// keeps: exit, a query without a check
#include "shop.h"

enum status { DONE, FAILED, LATE };

static enum status step(struct db *db, const char *sql)
{
    if (db_run(db, sql))
        return LATE;
    return DONE;
}

int pay(struct db *db)
{
    enum status status;

    db_begin(db);
    status = step(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (status == FAILED)
        goto fail;
    status = step(db, "INSERT INTO sale VALUES (1, 2, 3, 'x')");
    if (status == FAILED)
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
