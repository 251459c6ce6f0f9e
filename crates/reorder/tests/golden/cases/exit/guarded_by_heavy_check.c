// The first statement locks the region and tests `n`; the customer's update divides by `n`.
// isolation: serializable
// expect: unchanged
// keeps: exit, it leaves the transaction depending on `n`
#include "shop.h"

int share(struct db *db, int amount, int n)
{
    db_begin(db);
    if (db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE") < 0 || n == 0)
        goto fail;
    db_run(db, "UPDATE customer SET c_balance = c_balance + $1 WHERE c_id = 2", amount / n);
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
