// MySQL does not undo the transaction when a query fails: the exit commits what ran before it.
// server: mysql
// expect: unchanged
// keeps: barrier, it jumps within the transaction
#include "shop.h"

int pay(struct db *db, int amount)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + ? WHERE r_id = 1", amount))
        goto out;
    if (db_run(db, "UPDATE customer SET c_balance = c_balance - ? WHERE c_id = 2", amount))
        goto out;
out:
    db_commit(db);
    return 0;
}
