// The number that is tested late is not the one of the update of the customer, which no code checks.
// Only the read moves.
// server: mysql
// expect: moves
// keeps: exit, the server may roll back what stands before it
#include "shop.h"

int visit(struct db *db, char *name, int wrong)
{
    int failed;

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    failed = db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    if (db_text(db, name, "SELECT s_name FROM shop WHERE s_id = 3"))
        goto fail;
    failed = wrong;
    if (failed)
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
