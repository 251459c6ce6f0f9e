// Each query's text is made and freed, and its error is printed where it failed.
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
        fprintf(stderr, "customer: %s\n", sqlite3_errmsg(db));
        goto fail;
    }
    sql = sqlite3_mprintf("UPDATE region SET r_total = r_total + 1 WHERE r_id = %d", region);
    rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    if (rc != SQLITE_OK) {
        fprintf(stderr, "region: %s\n", sqlite3_errmsg(db));
        goto fail;
    }
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        goto fail;
    return 0;
fail:
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}
