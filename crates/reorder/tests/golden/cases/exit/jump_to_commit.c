// On PostgreSQL a failed query makes the commit a rollback, so that the exits may jump to it.
// expect: moves
#include "shop.h"

int pay(struct db *db, int amount)
{
    int rc = -1;

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount))
        goto out;
    if (db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = 2", amount))
        goto out;
    rc = 0;
out:
    db_commit(db);
    return rc;
}
