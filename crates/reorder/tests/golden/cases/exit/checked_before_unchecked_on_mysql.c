// A deadlock of the insert rolls the update back. Behind the insert, the update would be committed
// by itself then.
// server: mysql
// expect: unchanged
// keeps: exit, the server may roll back what stands before it
#include "shop.h"

int sell(struct db *db)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    db_run(db, "INSERT INTO sale VALUES (1, 2, 3, 'new')");
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
