// What the server computes from the row may not fit.
// server: mysql
// schema: CREATE TABLE twice (t_id INTEGER PRIMARY KEY, t_n INTEGER, t_two TINYINT AS (t_n * 2));
// expect: unchanged
// keeps: exit, `twice` may refuse the change
#include "shop.h"

int ship(struct db *db, int amount)
{
    db_begin(db);
    if (db_rows(db, "SELECT r_id FROM region WHERE r_id = 1 AND r_count > 0 FOR UPDATE") < 1)
        goto closed;
    if (db_run(db, "UPDATE twice SET t_n = ? WHERE t_id = 1", amount) != 0)
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
