// The default argument leads to `count`.
// function: pay
// expect: unchanged
#include "shop.h"

static long count;

static void put(long *p = &count)
{
    *p = 5;
}

void pay(db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", count);
    put();
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", count);
    db_commit(db);
}
