// PostgreSQL takes the parameter for a smallint: the sum may be out of range.
// schema: CREATE TABLE stock (k_id INTEGER PRIMARY KEY, k_count SMALLINT, k_low BOOLEAN);
// expect: unchanged
// keeps: exit, `k_count + $1` may be out of range
#include "shop.h"

int ship(struct db *db, int amount)
{
    db_begin(db);
    if (db_rows(db, "SELECT r_id FROM region WHERE r_id = 1 AND r_count > 0 FOR UPDATE") < 1)
        goto closed;
    if (db_run(db, "UPDATE stock SET k_low = k_count + $1 < 10", amount) != 0)
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
