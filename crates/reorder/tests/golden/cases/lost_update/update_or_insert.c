// As `missing_row_of_key`, with an update that finds no row.
// expect: unchanged
// keeps: lost update, others from writing `item`
#include "shop.h"

int sell(struct db *db, int shop)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_run(db, "UPDATE item SET i_stock = 1 WHERE i_id = $1", shop))
        goto fail;
    if (db_changed(db) == 0 && db_run(db, "INSERT INTO item VALUES ($1, 1, 'new', 2, 3)", shop))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
