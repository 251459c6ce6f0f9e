// expect: unchanged
#include "shop.h"

void check(int amount);

void pay(db *db, int amount)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount);
    try {
        check(amount);
    } catch (...) {
        db_rollback(db);
        throw;
    }
    db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    db_commit(db);
}
