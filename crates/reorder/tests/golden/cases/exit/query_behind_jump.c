// Behind the jump, a query counts the attempt before the transaction ends; its place matters.
// api: sqlite
// expect: unchanged
// keeps: barrier, it jumps within the transaction
#include <stddef.h>

#include <sqlite3.h>

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
    sqlite3_exec(db, "INSERT INTO log VALUES ('attempt')", NULL, NULL, NULL);
    sqlite3_exec(db, rc < 0 ? "ROLLBACK" : "COMMIT", NULL, NULL, NULL);
    return rc;
}
