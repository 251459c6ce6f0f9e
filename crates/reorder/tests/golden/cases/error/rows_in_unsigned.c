// A variable without a sign has no result that is negative: the exit is not one for a failure.
// server: mysql
// expect: unchanged
// keeps: exit, it leaves the transaction depending on what a query returned
#include "shop.h"

int pay(struct db *db, int region, int customer)
{
    unsigned char rows;

    db_begin(db);
    rows = db_rows(db, "UPDATE region SET r_total = 1 WHERE r_id = ?", region);
    if (rows == 255)
        goto fail;
    if (db_run(db, "INSERT INTO item VALUES (?, 1, 'x', 1, 1)", customer))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
