// The number that the helper returns behind its rollback is kept in a variable.
// function: pay
// expect: moves
#include "shop.h"

static int step(struct db *db, const char *sql)
{
    if (db_run(db, sql)) {
        db_rollback(db);
        return -1;
    }
    return 0;
}

int pay(struct db *db)
{
    int rc;

    db_begin(db);
    rc = step(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    if (rc)
        return rc;
    rc = step(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (rc)
        return rc;
    db_commit(db);
    return 0;
}
