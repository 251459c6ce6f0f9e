// The function reads the error that its last call has left.
// api: sqlite
// function: pay
// expect: unchanged
// keeps: read after write, it writes the result of a query
#include <stddef.h>
#include <stdio.h>

#include <sqlite3.h>

int pay(sqlite3 *db, int a, int b)
{
    int status = -1;
    sqlite3_stmt *hot = NULL, *dec = NULL;
    (void)a;
    if (sqlite3_errcode(db) != SQLITE_OK) printf("before: %s\n", sqlite3_errmsg(db));
    if (sqlite3_prepare_v2(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", -1,
            &hot, NULL) != SQLITE_OK ||
            sqlite3_prepare_v2(db,
            "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = ?", -1, &dec,
            NULL) != SQLITE_OK)
        goto done;
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) goto done;
    if (sqlite3_step(hot) != SQLITE_DONE) goto undo;
    sqlite3_bind_int(dec, 1, b);
    if (sqlite3_step(dec) != SQLITE_DONE) { status = -4; goto undo; }
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK) { status = 0; goto done; }
    status = -5;
undo:
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
done:
    sqlite3_finalize(dec);
    sqlite3_finalize(hot);
    return status;
}
int go(sqlite3 *db, int a, int b);
int go(sqlite3 *db, int a, int b)
{
    int r = pay(db, a, b);
    if (r < 0) r = pay(db, a, b) * 100;
    return r;
}
