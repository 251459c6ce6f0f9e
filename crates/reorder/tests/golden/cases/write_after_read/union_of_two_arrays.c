// `b[2]` is at the place of `a[1]`.
// expect: unchanged
#include "shop.h"

union both {
    long a[2];
    int b[4];
};

void pay(struct db *db)
{
    union both u = {{0}};

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", u.a[1]);
    u.b[2] = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", u.b[2]);
    db_commit(db);
}
