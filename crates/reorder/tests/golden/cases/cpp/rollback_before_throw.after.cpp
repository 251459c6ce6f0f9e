// The exception leaves behind the rollback, as a return would.
// expect: moves
#include "shop.h"

void pay(db *db, int amount)
{
    db_begin(db);
    if (amount < 0) {
        db_rollback(db);
        throw amount;
    }
    db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount);
    db_commit(db);
}
