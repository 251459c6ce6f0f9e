// The update chooses its rows by a column that no query writes.
// expect: moves
#include "shop.h"

int sell(struct db *db, int shop)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_run(db, "UPDATE item SET i_stock = i_stock + 1 WHERE i_shop = $1", shop))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
