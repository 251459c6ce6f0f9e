// The same, compared with the only result that means a failure.
// server: mysql
// expect: moves
#include "shop.h"

int pay(struct db *db, int region, int customer)
{
    int rows;

    db_begin(db);
    rows = db_rows(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = ?", region);
    if (rows == -1)
        goto fail;
    if (db_run(db, "INSERT INTO item VALUES (?, 1, 'x', 1, 1)", customer))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
