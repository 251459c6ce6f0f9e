// The rows of the first statement are read before the second statement runs.
// api: sqlite
// expect: moves
#include <stddef.h>

#include <sqlite3.h>

int pay(sqlite3 *db)
{
    sqlite3_stmt *stmt;
    int balance = 0;

    sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
    sqlite3_exec(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", NULL, NULL, NULL);
    sqlite3_prepare_v2(db, "SELECT c_balance FROM customer WHERE c_shop = 2", -1, &stmt, NULL);
    while (sqlite3_step(stmt) == SQLITE_ROW)
        balance += sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    return balance;
}
