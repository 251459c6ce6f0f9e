// asprintf makes the texts; a pointer is used for both.
// api: sqlite
// expect: moves
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include <sqlite3.h>

int pay(sqlite3 *db, int region, int customer)
{
    char *sql = NULL;
    int rc;

    if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    if (asprintf(&sql, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = %d", customer) < 0)
        goto fail;
    rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    free(sql);
    if (rc != SQLITE_OK)
        goto fail;
    if (asprintf(&sql, "UPDATE region SET r_total = r_total + 1 WHERE r_id = %d", region) < 0)
        goto fail;
    rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    free(sql);
    if (rc != SQLITE_OK)
        goto fail;
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        goto fail;
    return 0;
fail:
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}
