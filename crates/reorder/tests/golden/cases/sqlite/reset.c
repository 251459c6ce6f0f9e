// One statement runs twice, with other parameters: the rows may be the same, so the order stays.
// api: sqlite
// expect: unchanged
#include <stddef.h>

#include <sqlite3.h>

void pay(sqlite3 *db, int first, int second)
{
    sqlite3_stmt *stmt;

    sqlite3_prepare_v2(db, "UPDATE region SET r_total = ? WHERE r_id = ?", -1, &stmt, NULL);
    sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
    sqlite3_bind_int(stmt, 1, 1);
    sqlite3_bind_int(stmt, 2, first);
    sqlite3_step(stmt);
    sqlite3_reset(stmt);
    sqlite3_bind_int(stmt, 1, 2);
    sqlite3_bind_int(stmt, 2, second);
    sqlite3_step(stmt);
    sqlite3_reset(stmt);
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    sqlite3_finalize(stmt);
}
