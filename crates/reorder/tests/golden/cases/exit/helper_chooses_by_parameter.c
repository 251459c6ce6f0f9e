// The helper takes the outcome of its query, or a constant.
// function: pay
// expect: unchanged
// keeps: exit, it leaves the transaction depending on `parts`
#include "shop.h"

static int grow(struct db *db, int parts)
{
    int failed = parts == 0
                     ? -1
                     : db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");

    return failed;
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
