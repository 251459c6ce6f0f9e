// No row makes the policy fail, and no policy refuses a deletion.
// schema: CREATE TABLE owned (o_id INTEGER PRIMARY KEY, o_n INTEGER);
// schema: CREATE POLICY few ON owned USING (o_n < 9);
// expect: moves
#include "shop.h"

int ship(struct db *db, int amount)
{
    db_begin(db);
    if (db_run(db, "DELETE FROM owned WHERE o_id = $1", amount) != 0)
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
