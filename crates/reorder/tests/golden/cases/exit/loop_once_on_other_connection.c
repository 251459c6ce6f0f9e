// The queries in the `do` use another connection than the begin: each commits by itself. If the
// customer's update fails, the source has counted in the region.
// expect: unchanged
// keeps: barrier, it may use another connection
#include "shop.h"

int pay(struct db *db, struct db *audit)
{
    int rc = -1;

    db_begin(db);
    do {
        if (db_run(audit, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
            break;
        if (db_run(audit, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2"))
            break;
        rc = 0;
    } while (0);
    if (rc == 0)
        db_commit(db);
    else
        db_rollback(db);
    return rc;
}
