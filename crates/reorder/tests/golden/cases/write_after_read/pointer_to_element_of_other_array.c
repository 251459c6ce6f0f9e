// `p` leads to the elements of `a` only.
// expect: moves
#include "shop.h"

void pay(struct db *db)
{
    long a[4] = {0}, b[4] = {0};
    long *p = &a[2];

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", p[1]);
    b[3] = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", b[3]);
    db_commit(db);
}
