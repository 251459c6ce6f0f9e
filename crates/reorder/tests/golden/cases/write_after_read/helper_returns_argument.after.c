// The result of the helper leads to `x`, not to `y`.
// function: pay
// expect: moves
#include "shop.h"

static long *same(long *p)
{
    return p;
}

void pay(struct db *db)
{
    long x = 0, y = 0;
    long *p = same(&x);

    db_begin(db);
    y = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", y);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", *p);
    db_commit(db);
}
