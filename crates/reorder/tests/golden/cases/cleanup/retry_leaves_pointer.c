// The second attempt finds the pointer of the first one, whose statement is over.
// api: sqlite
// function: pay
// expect: unchanged
// keeps: read after write, it writes `hot`
#include <stddef.h>
#include <stdio.h>

#include <sqlite3.h>

int pay(sqlite3 *db, int a, int b)
{
    int status = -1;
    sqlite3_stmt *hot = NULL, *read = NULL;
    (void)b;
    for (int i = 0; i < 2 && status != 0; i++) {
        read = NULL;
        if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) return -1;
        if (sqlite3_prepare_v2(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1",
                -1, &hot, NULL) != SQLITE_OK)
            goto undo;
        if (sqlite3_step(hot) != SQLITE_DONE) goto undo;
        if (sqlite3_prepare_v2(db, "SELECT c_balance FROM customer WHERE c_id = ?", -1, &read,
                NULL) != SQLITE_OK)
            goto undo;
        sqlite3_bind_int(read, 1, i == 0 ? a : 999);
        if (sqlite3_step(read) != SQLITE_ROW) { status = -4; goto undo; }
        if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK) {
            status = 0;
            goto done;
        }
        status = -5;
    undo:
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    done:
        sqlite3_finalize(read);
        sqlite3_finalize(hot);
    }
    return status;
}
