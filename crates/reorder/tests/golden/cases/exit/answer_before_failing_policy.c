// The policy may divide by zero if the region is closed.
// schema: CREATE TABLE owned (o_id INTEGER PRIMARY KEY, o_n INTEGER);
// schema: CREATE POLICY few ON owned USING (9 / o_n > 2);
// expect: unchanged
// keeps: exit, `9 / o_n` may divide by zero
#include "shop.h"

int ship(struct db *db, int amount)
{
    db_begin(db);
    if (db_rows(db, "SELECT r_id FROM region WHERE r_id = 1 AND r_count > 0 FOR UPDATE") < 1)
        goto closed;
    if (db_run(db, "DELETE FROM owned WHERE o_id = $1", amount) != 0)
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
