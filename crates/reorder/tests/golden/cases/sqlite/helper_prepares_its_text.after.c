// The helper prepares and runs the text that its caller passes.
// api: sqlite
// expect: moves
#include <stddef.h>

#include <sqlite3.h>

static int run(sqlite3 *db, const char *sql, int number)
{
    sqlite3_stmt *stmt = NULL;
    int rc;

    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        return -1;
    sqlite3_bind_int(stmt, 1, number);
    rc = sqlite3_step(stmt);
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? 0 : -1;
}

int pay(sqlite3 *db, int region, int customer)
{
    if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    if (run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = ?", customer) != 0)
        goto fail;
    if (run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = ?", region) != 0)
        goto fail;
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        goto fail;
    return 0;
fail:
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}
