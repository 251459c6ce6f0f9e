// The region gets the amount from before the subtraction.
// expect: unchanged
// keeps: write after read, it writes `amount`
#include "shop.h"

void pay(struct db *db, int amount)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount);
    amount -= 5;
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = 2", amount);
    db_commit(db);
}
