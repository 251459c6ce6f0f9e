// The helper never returns.
// function: pay
// expect: unchanged
#include "shop.h"

[[noreturn]] static void fail(db *db, int code)
{
    db_rollback(db);
    throw code;
}

void pay(db *db, int amount)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount))
        fail(db, 1);
    if (amount < 0)
        fail(db, 3);
    if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
        fail(db, 2);
    db_commit(db);
}
