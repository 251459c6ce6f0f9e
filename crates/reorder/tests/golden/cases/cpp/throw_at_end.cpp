// The function ends with an exception, and not with a return.
// expect: unchanged
// keeps: barrier, `throw`
#include "shop.h"

void pay(db *db, int amount)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount);
    if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2") == 0) {
        db_commit(db);
        return;
    }
    db_rollback(db);
    throw amount;
}
