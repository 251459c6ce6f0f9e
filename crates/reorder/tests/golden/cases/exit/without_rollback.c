// The exit leaves the transaction open: the caller may commit what stands before it.
// expect: unchanged
// keeps: barrier, it leaves without a rollback
#include "shop.h"

int pay(struct db *db, int amount)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount);
    if (amount > 1000)
        return 1;
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = 2", amount);
    db_commit(db);
    return 0;
}
