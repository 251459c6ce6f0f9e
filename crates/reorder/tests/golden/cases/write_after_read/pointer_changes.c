// `p` leads elsewhere behind the first update.
// expect: unchanged
#include "shop.h"

void pay(struct db *db, long *p)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", *p);
    p = p + 1;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", *p);
    db_commit(db);
}
