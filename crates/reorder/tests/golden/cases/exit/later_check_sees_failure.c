// On PostgreSQL the check of the second query sees that the first one has failed.
// expect: unchanged
// keeps: exit, later code sees that a query without a check has failed
#include "shop.h"

int pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2")) {
        db_rollback(db);
        return -1;
    }
    db_commit(db);
    return 0;
}
