// The code behind the exits tests what the reset returns: whether the statement has failed.
// api: sqlite
// expect: unchanged
// keeps: read after write, it writes the result of a query
#include <stddef.h>
#include <stdio.h>

#include <sqlite3.h>

int pay(sqlite3 *db, int customer)
{
    sqlite3_stmt *region = NULL, *balance = NULL;

    sqlite3_prepare_v2(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", -1, &region,
                       NULL);
    sqlite3_prepare_v2(db, "UPDATE customer SET c_balance = 0 WHERE c_id = ?", -1, &balance, NULL);
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    if (sqlite3_step(region) != SQLITE_DONE)
        goto undo;
    sqlite3_bind_int(balance, 1, customer);
    if (sqlite3_step(balance) != SQLITE_DONE)
        goto undo;
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    sqlite3_finalize(region);
    sqlite3_finalize(balance);
    return 0;
undo:
    if (sqlite3_reset(region))
        printf("region\n");
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_finalize(region);
    sqlite3_finalize(balance);
    return -1;
}
