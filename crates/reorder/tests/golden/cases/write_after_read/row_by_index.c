// `p[0]` is `*p`.
// expect: unchanged
#include "shop.h"

void pay(struct db *db, long (*p)[4])
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", (*p)[1]);
    p[0][1] = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", p[0][1]);
    db_commit(db);
}
