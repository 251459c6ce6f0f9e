// The exits commit what ran before them; the rollback behind that undoes nothing.
// server: mysql
// expect: unchanged
// keeps: barrier
#include "shop.h"

int pay(struct db *db, int amount)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + ? WHERE r_id = 1", amount))
        goto fail;
    if (db_run(db, "UPDATE customer SET c_balance = c_balance - ? WHERE c_id = 3", amount))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_commit(db);
    db_rollback(db);
    return -1;
}
