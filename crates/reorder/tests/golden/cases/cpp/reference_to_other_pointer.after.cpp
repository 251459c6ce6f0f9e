// The helper writes what another pointer leads to.
// function: pay
// expect: moves
#include "shop.h"

static void put(long *p)
{
    *p = 5;
}

void pay(db *db)
{
    long x = 0, y = 0, *p = &y;

    db_begin(db);
    put(p);
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", y);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", x);
    db_commit(db);
}
