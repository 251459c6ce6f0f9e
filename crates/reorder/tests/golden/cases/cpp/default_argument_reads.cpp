// The default argument reads `count`, which the statement behind the call changes.
// function: pay
// expect: unchanged
// keeps: barrier, the default argument `amount`
#include "shop.h"

static long count;

static void put(db *db, long amount = count)
{
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", amount);
}

void pay(db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    put(db);
    count = 5;
    db_commit(db);
}
