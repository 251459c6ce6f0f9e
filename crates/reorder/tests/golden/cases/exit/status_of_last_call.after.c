// Each call sets the status, which chooses the end of the transaction. Where the calls go on, it
// is 0 behind each of them.
// api: sqlite
// function: pay
// expect: moves
#include <stddef.h>

#include <sqlite3.h>

static int run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;
}

int pay(sqlite3 *db)
{
    int rc;

    rc = run(db, "BEGIN");
    if (rc < 0)
        return rc;
    rc = run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    if (rc < 0)
        goto out;
    rc = run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (rc < 0)
        goto out;
out:
    run(db, rc < 0 ? "ROLLBACK" : "COMMIT");
    return rc;
}
