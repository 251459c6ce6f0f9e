// The failure code returns the number of queries that ran.
// expect: unchanged
#include "shop.h"

int pay(struct db *db, int amount)
{
    int done = 0;

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount))
        goto fail;
    done++;
    if (db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = 2", amount))
        goto fail;
    done++;
    db_commit(db);
    return done;
fail:
    db_rollback(db);
    return -done;
}
