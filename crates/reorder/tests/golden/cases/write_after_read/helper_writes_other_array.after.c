// The helper writes an element of another array.
// function: pay
// expect: moves
#include "shop.h"

static void put(long *p)
{
    p[1] = 5;
}

void pay(struct db *db)
{
    long a[4] = {0}, b[4] = {0};

    db_begin(db);
    put(&b[2]);
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", b[3]);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", a[3]);
    db_commit(db);
}
