// The error is printed at the end.
// api: sqlite
// expect: moves
#include <stdio.h>
#include <sqlite3.h>

int pay(sqlite3 *db, int region, int customer)
{
    char *sql;
    int rc;

    if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    sql = sqlite3_mprintf("UPDATE customer SET c_visits = 1 WHERE c_id = %d", customer);
    rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    if (rc != SQLITE_OK) {
        goto fail;
    }
    sql = sqlite3_mprintf("UPDATE region SET r_total = r_total + 1 WHERE r_id = %d", region);
    rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    if (rc != SQLITE_OK) {
        goto fail;
    }
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        goto fail;
    return 0;
fail:
    fprintf(stderr, "pay: %s\n", sqlite3_errmsg(db));
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}
