// A number of rows that is not negative is none of a failure: the jump behind it leaves the
// transaction open.
// server: mysql
// expect: unchanged
// keeps: barrier, it leaves without a rollback
#include "shop.h"

int pay(struct db *db, int region, int customer)
{
    db_begin(db);
    if (db_rows(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = ?", region) >= 0)
        return 1;
    if (db_run(db, "INSERT INTO item VALUES (?, 1, 'x', 1, 1)", customer))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
