// A function runs the text that the status chooses.
// api: sqlite
// expect: moves
#include <stddef.h>

#include <sqlite3.h>

static void finish(sqlite3 *db, const char *sql)
{
    sqlite3_exec(db, sql, NULL, NULL, NULL);
}

int pay(sqlite3 *db)
{
    int rc = -1;

    if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    if (sqlite3_exec(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", NULL, NULL,
                     NULL) != SQLITE_OK)
        goto out;
    if (sqlite3_exec(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2", NULL, NULL,
                     NULL) != SQLITE_OK)
        goto out;
    rc = 0;
out:
    finish(db, rc == 0 ? "COMMIT" : "ROLLBACK");
    return rc;
}
