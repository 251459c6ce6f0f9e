// A template gets the function, calls it and reads the error.
// api: sqlite
// function: pay
// expect: unchanged
// keeps: read after write, it writes the result of a query
#include <cstddef>
#include <cstdio>

#include <sqlite3.h>

extern "C" int go(sqlite3 *db, int a, int b);
static int pay(sqlite3 *db, int a, int b)
{
    int status = -1;
    (void)a;
    sqlite3_stmt *hot = nullptr, *dec = nullptr;
    if (sqlite3_prepare_v2(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", -1,
            &hot, NULL) != SQLITE_OK ||
            sqlite3_prepare_v2(db,
            "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = ?", -1, &dec,
            NULL) != SQLITE_OK)
        return -9;
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) goto done;
    if (sqlite3_step(hot) != SQLITE_DONE) { status = -2; goto undo; }
    sqlite3_bind_int(dec, 1, b);
    if (sqlite3_step(dec) != SQLITE_DONE) { status = -4; goto undo; }
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK) { status = 0; goto done; }
undo:
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
done:
    sqlite3_finalize(dec);
    sqlite3_finalize(hot);
    return status;
}
template <class F> int guarded(sqlite3 *db, F f, int a, int b) { int r = f(db, a,
        b); if (r < 0) printf("tmpl %s\n", sqlite3_errmsg(db)); return r; }
int go(sqlite3 *db, int a, int b) { return guarded(db, pay, a, b); }
