// On one path, the value from before the calls is the one behind the label.
// api: sqlite
// function: pay
// expect: unchanged
// keeps: write after write, both write `rc`
#include <stddef.h>

#include <sqlite3.h>

static int run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;
}

int pay(sqlite3 *db, int counts, int rc)
{
    if (run(db, "BEGIN") < 0)
        return -1;
    if (counts) {
        rc = run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
        if (rc < 0)
            goto out;
    }
    if (counts) {
        rc = run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
        if (rc < 0)
            goto out;
    }
out:
    run(db, rc < 0 ? "ROLLBACK" : "COMMIT");
    return rc;
}
