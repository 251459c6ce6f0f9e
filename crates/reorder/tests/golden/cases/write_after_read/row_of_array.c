// `p[1]` is the row behind `a[2]`.
// expect: unchanged
#include "shop.h"

void pay(struct db *db)
{
    long a[4][4] = {{0}};
    long (*p)[4] = &a[2];

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", p[1][0]);
    a[3][0] = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", a[3][0]);
    db_commit(db);
}
