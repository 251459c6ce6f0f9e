// Each call is checked.
// api: sqlite
// expect: moves
#include <stddef.h>

#include <sqlite3.h>

int pay(sqlite3 *db, int region, int customer)
{
    sqlite3_stmt *stmt = NULL;

    if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    if (sqlite3_prepare_v2(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = ?", -1, &stmt,
                           NULL) != SQLITE_OK)
        goto fail;
    sqlite3_bind_int(stmt, 1, region);
    if (sqlite3_step(stmt) != SQLITE_DONE)
        goto fail;
    sqlite3_finalize(stmt);
    if (sqlite3_prepare_v2(db, "UPDATE customer SET c_visits = 1 WHERE c_id = ?", -1, &stmt,
                           NULL) != SQLITE_OK)
        goto fail;
    sqlite3_bind_int(stmt, 1, customer);
    if (sqlite3_step(stmt) != SQLITE_DONE)
        goto fail;
    sqlite3_finalize(stmt);
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        goto rollback;
    return 0;
fail:
    sqlite3_finalize(stmt);
rollback:
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}
