// The end of a statement that has run sets the connection's error, which a caller reads: that of the
// last statement behind the label that has run.
// api: sqlite
// function: pay
// expect: unchanged
// keeps: read after write, it writes the result of a query
#include <stddef.h>
#include <stdio.h>

#include <sqlite3.h>

int pay(sqlite3 *db, int customer, int *balance)
{
    int status = -1;
    sqlite3_stmt *region = NULL, *read = NULL;

    if (sqlite3_prepare_v2(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", -1,
                           &region, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, "SELECT c_balance FROM customer WHERE c_id = ?", -1, &read,
                           NULL) != SQLITE_OK)
        goto done;
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        goto done;
    if (sqlite3_step(region) != SQLITE_DONE)
        goto undo;
    sqlite3_bind_int(read, 1, customer);
    if (sqlite3_step(read) != SQLITE_ROW)
        goto undo;
    *balance = sqlite3_column_int(read, 0);
    sqlite3_reset(read);
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK) {
        status = 0;
        goto done;
    }
undo:
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
done:
    sqlite3_finalize(region);
    sqlite3_finalize(read);
    return status;
}

int pay_or_say(sqlite3 *db, int customer, int *balance)
{
    int status = pay(db, customer, balance);

    if (status != 0)
        fprintf(stderr, "%s\n", sqlite3_errmsg(db));
    return status;
}
