// The caller gets the statement: no exit in front of the commit ends it.
// api: sqlite
// function: pay
// expect: unchanged
// keeps: exit, it leaves without ending what is made
#include <stddef.h>
#include <stdio.h>

#include <sqlite3.h>

static sqlite3_stmt *pay(sqlite3 *db, int a, int b)
{
    sqlite3_stmt *read = NULL, *hot = NULL;
    if (sqlite3_prepare_v2(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", -1,
            &hot, NULL) != SQLITE_OK)
        return NULL;
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) {
        sqlite3_finalize(hot);
        return NULL;
    }
    if (sqlite3_step(hot) != SQLITE_DONE) goto fail;
    if (sqlite3_prepare_v2(db, "SELECT c_balance FROM customer WHERE c_id = ?", -1, &read,
            NULL) != SQLITE_OK)
        goto fail;
    sqlite3_bind_int(read, 1, a + b - b);
    if (sqlite3_step(read) != SQLITE_ROW) { sqlite3_finalize(read); goto fail; }
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) {
        sqlite3_finalize(read);
        goto fail;
    }
    sqlite3_finalize(hot);
    return read;
fail:
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_finalize(hot);
    return NULL;
}
int go(sqlite3 *db, int a, int b);
int go(sqlite3 *db, int a, int b)
{
    sqlite3_stmt *t = pay(db, a, b);
    int r = t != NULL ? sqlite3_column_int(t, 0) : -1;
    sqlite3_finalize(t);
    return r;
}
