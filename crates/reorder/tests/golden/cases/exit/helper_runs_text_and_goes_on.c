// The texts of the helper roll back, and nobody looks at what it returns.
// function: pay
// server: sqlite
// expect: unchanged
// keeps: barrier, it rolls back, and the transaction goes on
#include "shop.h"

static void run(struct db *db, const char *sql)
{
    db_run(db, sql);
}

static void step(struct db *db, const char *sql, const char *otherwise)
{
    if (db_run(db, sql))
        run(db, otherwise);
}

int pay(struct db *db)
{
    run(db, "BEGIN");
    step(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", "ROLLBACK");
    step(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2", "ROLLBACK");
    run(db, "COMMIT");
    return 0;
}
