// The status of the first call alone shows whether the sale was counted, and the second call
// leaves another number: the order of the two decides what the caller sees.
// api: sqlite
// function: pay
// expect: unchanged
// keeps: write after read, it writes `rc`
#include <stddef.h>

#include <sqlite3.h>

static int run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;
}

static int count(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 1 : -1;
}

int pay(sqlite3 *db)
{
    int rc;

    if (run(db, "BEGIN") < 0)
        return -1;
    rc = run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (rc < 0)
        goto out;
    rc = count(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    if (rc < 0)
        goto out;
out:
    run(db, rc < 0 ? "ROLLBACK" : "COMMIT");
    return rc;
}
