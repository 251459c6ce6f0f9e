// The interface's own status, compared with its success, in one statement with each call; the
// commit stands in a branch.
// api: sqlite
// expect: moves
#include <stddef.h>

#include <sqlite3.h>

int pay(sqlite3 *db)
{
    int rc;

    if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    if ((rc = sqlite3_exec(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", NULL,
                           NULL, NULL)) != SQLITE_OK)
        goto out;
    if ((rc = sqlite3_exec(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2", NULL, NULL,
                           NULL)) != SQLITE_OK)
        goto out;
out:
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    else
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}
