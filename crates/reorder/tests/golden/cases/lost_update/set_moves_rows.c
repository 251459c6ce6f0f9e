// An update assigns a column by which it chooses: it misses the rows that the same update moves in.
// expect: unchanged
// keeps: lost update, others from writing `item`
#include "shop.h"

int sell(struct db *db, int shop, int other)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_run(db, "UPDATE item SET i_shop = $1 WHERE i_shop = $2", shop, other))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
