// The customer's update divides by `n`: it stays behind the exit that tests it. The region moves.
// expect: moves
// keeps: exit, it leaves the transaction depending on `n`
#include "shop.h"

int share(struct db *db, int amount, int n)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount);
    if (n == 0) {
        db_rollback(db);
        return -1;
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance + $1 WHERE c_id = 2", amount / n);
    db_commit(db);
    return 0;
}
