// The helper writes the element behind the one that it gets.
// function: pay
// expect: unchanged
#include "shop.h"

static void put(long *p)
{
    p[1] = 5;
}

void pay(struct db *db)
{
    long a[4] = {0};

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", a[3]);
    put(&a[2]);
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", a[3]);
    db_commit(db);
}
