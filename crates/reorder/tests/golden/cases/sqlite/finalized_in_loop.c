// The first loop leaves a finalized statement, which the next loops replace before the last loop may
// leave and finalize it again.
// api: sqlite
// expect: unchanged
#include <stddef.h>

#include <sqlite3.h>

int pay(sqlite3 *db, int count, int *slots)
{
    sqlite3_stmt *stmt = NULL;
    int i;

    if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    for (i = 0; i < 4; i++) {
        if (sqlite3_prepare_v2(db, "UPDATE region SET r_total = 1", -1, &stmt, NULL) != SQLITE_OK)
            goto fail;
        if (sqlite3_step(stmt) != SQLITE_DONE)
            goto fail;
        sqlite3_finalize(stmt);
    }
    for (i = 0; i < 4; i++) {
        stmt = NULL;
        if (sqlite3_prepare_v2(db, "SELECT c_balance FROM customer", -1, &stmt, NULL) != SQLITE_OK)
            goto fail;
        if (sqlite3_step(stmt) == SQLITE_ROW)
            slots[i] = sqlite3_column_int(stmt, 0);
        sqlite3_finalize(stmt);
        stmt = NULL;
    }
    for (i = 0; i < count; i++) {
        if (sqlite3_exec(db, "INSERT INTO log VALUES ('a')", NULL, NULL, NULL) != SQLITE_OK)
            goto fail;
        if (sqlite3_prepare_v2(db, "INSERT INTO log VALUES ('b')", -1, &stmt, NULL) != SQLITE_OK)
            goto fail;
        if (sqlite3_step(stmt) != SQLITE_DONE)
            goto fail;
        sqlite3_finalize(stmt);
        stmt = NULL;
    }
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        goto fail;
    return 0;
fail:
    sqlite3_finalize(stmt);
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return 1;
}
