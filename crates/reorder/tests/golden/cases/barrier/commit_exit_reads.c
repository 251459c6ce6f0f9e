// If the commit fails, the statement in `stmt` is finalized: it must not be the one of the region,
// which has been finalized already.
// api: sqlite
// expect: unchanged
// keeps: write after read, it writes `stmt`
#include <stddef.h>

#include <sqlite3.h>

#define FINALIZE(stmt) \
    do { \
        sqlite3_finalize(stmt); \
        (stmt) = NULL; \
    } while (0)

int pay(sqlite3 *db)
{
    sqlite3_stmt *stmt = NULL;

    if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return -1;

    if (sqlite3_prepare_v2(db, "UPDATE region SET r_total = 1", -1, &stmt, NULL) != SQLITE_OK)
        goto fail;
    if (sqlite3_step(stmt) != SQLITE_DONE)
        goto fail;
    sqlite3_finalize(stmt);

    if (sqlite3_prepare_v2(db, "UPDATE item SET i_stock = 1", -1, &stmt, NULL) != SQLITE_OK)
        goto fail;
    if (sqlite3_step(stmt) != SQLITE_DONE)
        goto fail;
    FINALIZE(stmt);

    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        goto fail;
    return 0;
fail:
    sqlite3_finalize(stmt);
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return 1;
}
