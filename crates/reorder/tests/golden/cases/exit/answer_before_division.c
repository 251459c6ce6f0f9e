// The pot may have no members if the region is closed.
// schema: CREATE TABLE pot (p_id INTEGER PRIMARY KEY, p_total INTEGER, p_members INTEGER);
// expect: unchanged
// keeps: exit, `p_total / p_members` may divide by zero
#include "shop.h"

int ship(struct db *db, int amount)
{
    db_begin(db);
    if (db_rows(db, "SELECT r_id FROM region WHERE r_id = 1 AND r_count > 0 FOR UPDATE") < 1)
        goto closed;
    if (db_run(db, "UPDATE pot SET p_total = p_total / p_members WHERE p_id = $1", amount) != 0)
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
