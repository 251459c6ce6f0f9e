// Both arguments change `n`.
// expect: unchanged
// keeps: write after read, it writes `n`
#include "shop.h"

void pay(struct db *db, int n)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", n++);
    db_run(db, "UPDATE customer SET c_balance = $1 WHERE c_id = 2", n++);
    db_commit(db);
}
