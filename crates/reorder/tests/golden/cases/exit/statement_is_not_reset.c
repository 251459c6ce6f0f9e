// The exit of the update resets its own statement only: the next call cannot bind the other one.
// api: sqlite
// function: pay
// expect: unchanged
// keeps: exit, it leaves without resetting
#include <stddef.h>
#include <stdio.h>

#include <sqlite3.h>

static sqlite3_stmt *hot, *rd;
static int pay(sqlite3 *db, int a, int b)
{
    int status = -1;
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) return -1;
    if (sqlite3_step(hot) != SQLITE_DONE) {
        sqlite3_reset(hot);
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return -2;
    }
    if (sqlite3_bind_int(rd, 1, a) != SQLITE_OK) { status = -33; goto undo; }
    if (sqlite3_step(rd) != SQLITE_ROW) { status = -3; goto undo; }
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) { status = -5; goto undo; }
    sqlite3_reset(hot); sqlite3_reset(rd);
    return b;
undo:
    sqlite3_reset(hot); sqlite3_reset(rd);
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}
int go(sqlite3 *db, int a, int b);
int go(sqlite3 *db, int a, int b)
{
    int r;
    if (sqlite3_prepare_v2(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", -1,
            &hot, NULL) != SQLITE_OK ||
            sqlite3_prepare_v2(db, "SELECT c_balance FROM customer WHERE c_id = ?", -1, &rd,
            NULL) != SQLITE_OK)
        return -9;
    r = pay(db, a, b);
    sqlite3_exec(db, "DROP TRIGGER IF EXISTS t0", NULL, NULL, NULL);
    r = 1000 * pay(db, 1, 1) + r;
    sqlite3_finalize(hot); sqlite3_finalize(rd);
    return r;
}
