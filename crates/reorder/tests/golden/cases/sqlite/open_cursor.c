// The second update runs while the first statement has rows left: it may change them.
// api: sqlite
// expect: unchanged
#include <stddef.h>

#include <sqlite3.h>

void pay(sqlite3 *db)
{
    sqlite3_stmt *stmt;

    sqlite3_prepare_v2(db, "SELECT c_id FROM customer", -1, &stmt, NULL);
    sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
    sqlite3_exec(db, "UPDATE customer SET c_visits = 1 WHERE c_shop = 2", NULL, NULL, NULL);
    sqlite3_step(stmt);
    sqlite3_exec(db, "DELETE FROM customer WHERE c_visits = 1", NULL, NULL, NULL);
    sqlite3_step(stmt);
    sqlite3_reset(stmt);
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    sqlite3_finalize(stmt);
}
