// A failed call may leave a positive status, with which the transaction goes on and commits.
// server: sqlite
// expect: unchanged
// keeps: write after write, both write `rc`
#include "shop.h"

int pay(struct db *db)
{
    int rc;

    db_begin(db);
    rc = db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (rc < 0)
        goto out;
    rc = db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    if (rc < 0)
        goto out;
out:
    db_run(db, rc < 0 ? "ROLLBACK" : "COMMIT");
    return rc;
}
