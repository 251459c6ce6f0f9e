// The condition decides whether the region is updated, and only a failure of that update leaves. So
// the update of the customer, which uses the same amount, needs no answer of the condition.
// isolation: serializable
// expect: moves
#include "shop.h"

int pay(struct db *db, long amount, long limit)
{
    db_begin(db);
    if (amount > limit) {
        if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1") != 0)
            goto fail;
    }
    if (db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", amount) != 0)
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
