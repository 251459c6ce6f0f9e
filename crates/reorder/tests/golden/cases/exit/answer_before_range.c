// What is reserved may be less than the amount, and the region closed: the program reports that.
// server: mysql
// schema: CREATE TABLE stock (k_item INTEGER PRIMARY KEY, k_reserved INT UNSIGNED NOT NULL);
// expect: unchanged
// keeps: exit, `k_reserved - $1` may be out of range
#include "shop.h"

int ship(struct db *db, int amount)
{
    db_begin(db);
    if (db_rows(db, "SELECT r_id FROM region WHERE r_id = 1 AND r_count > 0 FOR UPDATE") < 1)
        goto closed;
    if (db_run(db, "UPDATE stock SET k_reserved = k_reserved - ? WHERE k_item = 1", amount) != 0)
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
