// As `replaces_rows`, on MySQL at repeatable read: each of two transactions may lock the gap into
// which the other one inserts.
// server: mysql
// expect: unchanged
// keeps: lost update
#include "shop.h"

int replace(struct db *db)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_run(db, "DELETE FROM sale WHERE x_item = 2"))
        goto fail;
    if (db_run(db, "INSERT INTO sale VALUES (2, 3, 1, NULL)"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
