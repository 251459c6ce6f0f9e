// A counter without a sign that only grows is assumed not to overflow.
// server: mysql
// schema: CREATE TABLE page (p_id INTEGER PRIMARY KEY, p_hits INT UNSIGNED NOT NULL);
// expect: moves
#include "shop.h"

int ship(struct db *db, int amount)
{
    db_begin(db);
    if (db_run(db, "UPDATE page SET p_hits = p_hits + 1 WHERE p_id = ?", amount) != 0)
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
