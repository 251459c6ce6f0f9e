// The constant fits into the column.
// schema: CREATE TABLE door (d_id INTEGER PRIMARY KEY, d_state VARCHAR(6) NOT NULL);
// expect: moves
#include "shop.h"

int ship(struct db *db, int amount)
{
    db_begin(db);
    if (db_run(db, "UPDATE door SET d_state = 'closed' WHERE d_id = $1", amount) != 0)
        goto fail;
    if (db_rows(db, "SELECT r_id FROM region WHERE r_id = 1 AND r_count > 0 FOR UPDATE") < 1)
        goto closed;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
closed:
    db_rollback(db);
    return 1;
}
