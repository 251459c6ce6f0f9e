// One helper runs all texts: queries and the rollback.
// function: pay
// server: sqlite
// expect: moves
#include "shop.h"

static int run(struct db *db, const char *sql)
{
    if (db_run(db, sql))
        return -1;
    return 0;
}

static int step(struct db *db, const char *sql)
{
    int rc = run(db, sql);

    if (rc != 0)
        run(db, "ROLLBACK");
    return rc;
}

int pay(struct db *db)
{
    int rc;

    run(db, "BEGIN");
    rc = step(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    if (rc != 0)
        return rc;
    if ((rc = step(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1")) != 0)
        return rc;
    run(db, "COMMIT");
    return 0;
}
