// A sample depends on where the server keeps the rows, which an update changes.
// expect: unchanged
// keeps: same table, region
#include "shop.h"

int touch(struct db *db, char *seen)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1") != 0)
        goto fail;
    if (db_text(db, seen, "SELECT max(r_name) FROM region TABLESAMPLE SYSTEM (10)") != 0)
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
