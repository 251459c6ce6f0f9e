// The jump in front of the label leads to a commit, in spite of the failure: the status is 1.
// server: sqlite
// expect: unchanged
// keeps: barrier, it jumps within the transaction
#include "shop.h"

int pay(struct db *db)
{
    int rc = 0;

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1")) {
        rc = -1;
        goto out;
    }
    if (db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2")) {
        rc = 1;
        goto out;
    }
out:
    db_run(db, rc < 0 ? "ROLLBACK" : "COMMIT");
    return rc;
}
