// `p` leads to `a[2]` when it is used.
// expect: unchanged
#include "shop.h"

void pay(struct db *db)
{
    long a[4] = {0}, *p = &a[1];

    p++;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", a[2]);
    *p = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", *p);
    db_commit(db);
}
