// Prepare, bind, step and finalize of each statement move together.
// api: sqlite
// expect: moves
#include <stddef.h>

#include <sqlite3.h>

void pay(sqlite3 *db, int region, int customer)
{
    sqlite3_stmt *stmt;

    sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
    sqlite3_prepare_v2(db, "UPDATE customer SET c_visits = 1 WHERE c_id = ?", -1, &stmt, NULL);
    sqlite3_bind_int(stmt, 1, customer);
    sqlite3_step(stmt);
    sqlite3_finalize(stmt);
    sqlite3_prepare_v2(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = ?", -1, &stmt,
                       NULL);
    sqlite3_bind_int(stmt, 1, region);
    sqlite3_step(stmt);
    sqlite3_finalize(stmt);
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
}
