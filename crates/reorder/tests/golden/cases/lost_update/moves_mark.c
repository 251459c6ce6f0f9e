// As `replaces_rows`, with updates: one customer of the shop has the mark.
// server: postgresql
// expect: unchanged
// keeps: lost update
#include "shop.h"

int replace(struct db *db)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_run(db, "UPDATE customer SET c_visits = 0 WHERE c_shop = 2 AND c_visits = 1"))
        goto fail;
    if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 4"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
