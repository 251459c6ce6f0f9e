// A deadlock of the update rolls back, and nobody notices: behind the insert it would undo what the
// program takes for done.
// server: mysql
// expect: unchanged
// keeps: exit, the server may roll back what stands before it
#include "shop.h"

int sell(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (db_run(db, "INSERT INTO sale VALUES (1, 2, 3, 'new')"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
