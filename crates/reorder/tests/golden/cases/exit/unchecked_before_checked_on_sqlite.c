// A full disk may roll back, and nobody notices: behind the insert the update would undo that one,
// which the program takes for done.
// server: sqlite
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
