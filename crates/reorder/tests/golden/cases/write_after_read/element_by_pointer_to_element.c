// `p[1]` is `a[3]`.
// expect: unchanged
#include "shop.h"

void pay(struct db *db)
{
    long a[4] = {0};
    long *p = &a[2];

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", p[1]);
    a[3] = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", a[3]);
    db_commit(db);
}
