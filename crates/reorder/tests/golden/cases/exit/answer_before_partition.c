// The new state may have no partition.
// schema: CREATE TABLE job (j_id INTEGER, j_state INTEGER) PARTITION BY LIST (j_state);
// expect: unchanged
// keeps: exit, `job` may refuse the change
#include "shop.h"

int ship(struct db *db, int amount)
{
    db_begin(db);
    if (db_rows(db, "SELECT r_id FROM region WHERE r_id = 1 AND r_count > 0 FOR UPDATE") < 1)
        goto closed;
    if (db_run(db, "UPDATE job SET j_state = $1 WHERE j_id = 1", amount) != 0)
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
