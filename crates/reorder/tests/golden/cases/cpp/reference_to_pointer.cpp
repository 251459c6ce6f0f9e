// The helper writes what the pointer leads to.
// function: pay
// expect: unchanged
#include "shop.h"

static void put(long *&p)
{
    *p = 5;
}

void pay(db *db)
{
    long x = 0, *p = &x;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", x);
    put(p);
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", x);
    db_commit(db);
}
