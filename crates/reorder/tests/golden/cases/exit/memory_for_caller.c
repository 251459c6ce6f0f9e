// The caller gets the memory: no exit in front of the commit frees it.
// api: sqlite
// function: pay
// expect: unchanged
// keeps: exit, it leaves without ending what is made
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

struct res { char *name; int visits; };
static int pay(sqlite3 *db, int a, int b, struct res *out)
{
    int status = -1;
    sqlite3_stmt *hot = NULL, *read = NULL;
    if (sqlite3_prepare_v2(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", -1,
            &hot, NULL) != SQLITE_OK ||
            sqlite3_prepare_v2(db, "SELECT c_balance FROM customer WHERE c_id = ?", -1, &read,
            NULL) != SQLITE_OK)
        goto done;
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) goto done;
    if (sqlite3_step(hot) != SQLITE_DONE) {
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        goto done;
    }
    sqlite3_bind_int(read, 1, a);
    if (sqlite3_step(read) != SQLITE_ROW) {
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        status = -3;
        goto done;
    }
    out->visits = sqlite3_column_int(read, 0);
    out->name = strdup("x");
    sqlite3_reset(read);
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) {
        free(out->name);
        out->name = NULL;
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        status = -5;
        goto done;
    }
    status = b;
done:
    sqlite3_finalize(hot);
    sqlite3_finalize(read);
    return status;
}
int go(sqlite3 *db, int a, int b);
int go(sqlite3 *db, int a, int b)
{
    struct res r = { NULL, 0 };
    int s = pay(db, a, b, &r);
    if (s >= 0) { printf("%s %d\n", r.name, r.visits); free(r.name); }
    return s;
}
