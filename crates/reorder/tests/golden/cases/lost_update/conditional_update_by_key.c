// If the offer does not match, its update holds no lock, and the transaction goes on: without the
// lock on the stock, it may find the offer as it was before another transaction and the stock as it
// is behind it.
// isolation: read committed
// expect: unchanged
// keeps: lost update
#include "shop.h"

int move(struct db *db, long count)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1 AND r_total + $1 >= 0", count) != 0)
        goto fail;
    if (db_run(db, "UPDATE customer SET c_visits = c_visits + $1 WHERE c_id = 1 AND c_visits + $1 >= 0", count) != 0)
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
