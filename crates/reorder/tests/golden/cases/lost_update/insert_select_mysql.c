// The query that reads and the one that writes are one.
// server: mysql
// expect: unchanged
// keeps: lost update, others from writing `sale`
#include "shop.h"

int sell(struct db *db)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_run(db, "INSERT INTO sale SELECT 1, 2, max(x_amount) + 1, NULL FROM sale"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
