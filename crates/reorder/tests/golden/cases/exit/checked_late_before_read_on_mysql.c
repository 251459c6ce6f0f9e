// The update of the customer is checked behind a query that reads what both updates have written.
// That of the region would be committed by itself in front of the check if the other one deadlocks,
// so that the check moves in front of it.
// server: mysql
// expect: moves
// keeps: exit, the server may roll back what stands before it
#include "shop.h"

int visit(struct db *db, char *name)
{
    int failed;

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    failed = db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    if (db_text(db, name, "SELECT c_name FROM customer, region WHERE c_visits = r_total"))
        goto fail;
    if (failed)
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
