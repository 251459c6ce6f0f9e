// Updates of different tables share no row: the lighter lock is taken first.
// expect: moves
#include "shop.h"

void pay(struct db *db, int amount)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount);
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = 2", amount);
    db_commit(db);
}
