// One of the texts is a statement before which MySQL commits, and the other one a savepoint: the
// updates behind it may commit by themselves.
// server: mysql
// expect: unchanged
// keeps: barrier, which commits
#include "shop.h"

int pay(struct db *db, int clears)
{
    db_begin(db);
    db_run(db, clears ? "TRUNCATE log" : "SAVEPOINT s");
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return 1;
}
