// The helper may leave the transaction by an exception, without a rollback.
// function: pay
// expect: unchanged
// keeps: barrier, `check` may throw
#include "shop.h"

static void check(int amount)
{
    if (amount < 0)
        throw amount;
}

void pay(db *db, int amount)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount);
    check(amount);
    db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    db_commit(db);
}
