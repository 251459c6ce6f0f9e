// Both branches commit, and what follows stands outside of the transaction.
// expect: unchanged
// keeps: barrier, it ends the transaction
#include "shop.h"

static void end(struct db *db, const char *how)
{
    db_run(db, how);
}

int pay(struct db *db, int amount)
{
    db_begin(db);
    if (amount > 5)
        end(db, "COMMIT");
    else
        end(db, "COMMIT WORK");
    if (db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount))
        return -1;
    if (db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = 2", amount))
        return -2;
    db_commit(db);
    return 0;
}
