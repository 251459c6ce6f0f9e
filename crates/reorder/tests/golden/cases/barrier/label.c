// A jump leads to the second update.
// expect: unchanged
// keeps: barrier, other statements jump to `again`
#include "shop.h"

void pay(struct db *db, int n)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
again:
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    if (--n > 0)
        goto again;
    db_commit(db);
}
