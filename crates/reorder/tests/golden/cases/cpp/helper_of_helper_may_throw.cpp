// function: pay
// expect: unchanged
// keeps: barrier, `check` may throw
#include "shop.h"

static void check(int amount)
{
    if (amount < 0)
        throw amount;
}

static int limited(int amount)
{
    check(amount);
    return amount;
}

void pay(db *db, int amount)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount);
    int share = limited(amount);
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", share);
    db_commit(db);
}
