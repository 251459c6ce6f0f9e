// Each update reports its own failure, and each failure rolls back.
// expect: moves
#include "shop.h"

int pay(struct db *db, int amount)
{
    db_begin(db);
    if (db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = 2", amount) != 0)
        goto fail;
    if (db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount) != 0)
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
