// The number of rows is that of the update of the items: the update of the region stays before it.
// server: mysql
// relaxed reads: yes
// expect: unchanged
// keeps: function, row_count
#include "shop.h"

int discount(struct db *db)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_run(db, "UPDATE item SET i_price = i_price - 1 WHERE i_shop = 2"))
        goto fail;
    if (db_run(db, "INSERT INTO sale VALUES (1, 2, ROW_COUNT(), NULL)"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
