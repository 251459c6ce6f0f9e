// A call that succeeds leaves the number of its rows, which the caller sees: the last call stays
// the last one.
// server: sqlite
// expect: unchanged
// keeps: write after read, it writes `rc`
#include "shop.h"

int pay(struct db *db)
{
    int rc;

    db_begin(db);
    rc = db_rows(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (rc < 0)
        goto out;
    rc = db_rows(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id < 9");
    if (rc < 0)
        goto out;
out:
    db_run(db, rc < 0 ? "ROLLBACK" : "COMMIT");
    return rc;
}
