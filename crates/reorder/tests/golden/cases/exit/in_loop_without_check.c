// The loop leaves the transaction when an item is missing, and not when an update fails: that may
// have rolled back what stands before the loop.
// server: sqlite
// expect: unchanged
// keeps: exit, a query without a check
#include "shop.h"

int order(struct db *db, const int *items, int count)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_count = r_count + 1 WHERE r_id = 1"))
        goto fail;
    for (int i = 0; i < count; i++) {
        if (db_number(db, "SELECT i_stock FROM item WHERE i_id = ?", items[i]) == 0)
            goto fail;
        db_run(db, "UPDATE item SET i_stock = i_stock - 1 WHERE i_id = ?", items[i]);
    }
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
