// Behind the rollback each query commits by itself: if the update of the customer fails, the source
// has counted in the region.
// expect: unchanged
// keeps: barrier, it rolls back, and the transaction goes on
#include "shop.h"

int pay(struct db *db, int amount)
{
    db_begin(db);
    if (amount < 0)
        db_rollback(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount))
        goto fail;
    if (db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = 2", amount))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return 1;
}
