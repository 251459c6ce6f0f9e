// The constant does not fit into the column; the region may be closed.
// schema: CREATE TABLE door (d_id INTEGER PRIMARY KEY, d_state VARCHAR(5) NOT NULL);
// expect: unchanged
// keeps: exit, `'closed'` may not fit into `d_state`
#include "shop.h"

int ship(struct db *db, int amount)
{
    db_begin(db);
    if (db_rows(db, "SELECT r_id FROM region WHERE r_id = 1 AND r_count > 0 FOR UPDATE") < 1)
        goto closed;
    if (db_run(db, "UPDATE door SET d_state = 'closed' WHERE d_id = $1", amount) != 0)
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
