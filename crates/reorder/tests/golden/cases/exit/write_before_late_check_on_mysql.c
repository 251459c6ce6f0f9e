// The update of the region stands between that of the customer and its check, and stays there. If
// the first one deadlocks, the second one is committed by itself. Only the read moves.
// server: mysql
// expect: moves
// keeps: exit, the server may roll back what stands before it
#include "shop.h"

int visit(struct db *db, char *name)
{
    int failed;

    db_begin(db);
    failed = db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (failed)
        goto fail;
    if (db_text(db, name, "SELECT i_name FROM item WHERE i_id = 3"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
