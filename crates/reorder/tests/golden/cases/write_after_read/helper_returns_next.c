// The helper returns the element behind the one that it gets.
// function: pay
// expect: unchanged
#include "shop.h"

static long *next(long *p)
{
    return p + 1;
}

void pay(struct db *db)
{
    long a[4] = {0};
    long *p = next(&a[1]);

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", *p);
    a[2] = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", a[2]);
    db_commit(db);
}
