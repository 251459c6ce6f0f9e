// As `replaces_rows`, but the deletion names the key: the second insertion would fail.
// server: postgresql
// expect: unchanged
// keeps: lost update
#include "shop.h"

int replace(struct db *db)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_run(db, "DELETE FROM item WHERE i_id = 2"))
        goto fail;
    if (db_run(db, "INSERT INTO item VALUES (2, 1, 'x', 3, 4)"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
