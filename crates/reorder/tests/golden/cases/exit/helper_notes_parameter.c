// A condition in front of the query decides on the value that the helper returns behind it.
// function: pay
// expect: unchanged
// keeps: exit, it leaves the transaction depending on `parts`
#include "shop.h"

static int grow(struct db *db, int parts)
{
    int wrong = 0, failed;

    if (parts == 0)
        wrong = -1;
    failed = db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    return failed ? failed : wrong;
}

int pay(struct db *db, int parts)
{
    db_begin(db);
    if (grow(db, parts))
        goto fail;
    if (db_run(db, "UPDATE customer SET c_balance = $1 WHERE c_id = 2", 100 / parts))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
