// The code behind each exit resets the statements, whatever they have done, and then rolls back.
// api: sqlite
// expect: moves
#include <stddef.h>

#include <sqlite3.h>

int pay(sqlite3 *db, int customer, int amount)
{
    sqlite3_stmt *region = NULL, *balance = NULL;
    int status = -1;

    if (sqlite3_prepare_v2(db, "UPDATE region SET r_total = r_total + ? WHERE r_id = 1", -1,
                           &region, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, "UPDATE customer SET c_balance = c_balance - ? WHERE c_id = ?", -1,
                           &balance, NULL) != SQLITE_OK)
        goto done;
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        goto done;
    sqlite3_bind_int(region, 1, amount);
    if (sqlite3_step(region) != SQLITE_DONE)
        goto undo;
    sqlite3_bind_int(balance, 1, amount);
    sqlite3_bind_int(balance, 2, customer);
    if (sqlite3_step(balance) != SQLITE_DONE)
        goto undo;
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        goto undo;
    status = 0;
    goto done;
undo:
    sqlite3_reset(region);
    (void)sqlite3_reset(balance);
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
done:
    sqlite3_finalize(region);
    sqlite3_finalize(balance);
    return status;
}
