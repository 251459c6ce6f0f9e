// The caller's variable changes between the updates.
// expect: unchanged
// keeps: write after read, it writes what `p` leads to
#include "shop.h"

void pay(struct db *db, long *p)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", *p);
    *p = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    db_commit(db);
}
