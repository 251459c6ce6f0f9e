// The amount is tested before the query of the same condition: zero leaves without it, so that the
// division stays behind it.
// isolation: serializable
// expect: unchanged
// keeps: exit, it leaves the transaction depending on `amount`
#include "shop.h"

int pay(struct db *db, long amount)
{
    db_begin(db);
    if (amount == 0 || db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1") != 0)
        goto fail;
    if (db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", 100 / amount) != 0)
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
