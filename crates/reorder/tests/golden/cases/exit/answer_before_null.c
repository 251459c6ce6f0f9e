// The note may be null if the region is closed.
// schema: CREATE TABLE note (n_id INTEGER PRIMARY KEY, n_old TEXT, n_new TEXT NOT NULL);
// expect: unchanged
// keeps: exit, `n_old` may be null
#include "shop.h"

int ship(struct db *db, int amount)
{
    db_begin(db);
    if (db_rows(db, "SELECT r_id FROM region WHERE r_id = 1 AND r_count > 0 FOR UPDATE") < 1)
        goto closed;
    if (db_run(db, "UPDATE note SET n_new = n_old WHERE n_id = $1", amount) != 0)
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
closed:
    db_rollback(db);
    return 1;
}
