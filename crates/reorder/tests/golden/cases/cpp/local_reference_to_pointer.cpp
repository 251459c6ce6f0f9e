// `*q` is `x`.
// expect: unchanged
#include "shop.h"

void pay(db *db)
{
    long x = 0, *p = &x;
    long *&q = p;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", x);
    *q = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", *q);
    db_commit(db);
}
