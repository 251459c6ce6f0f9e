// The statements are prepared before the transaction, with a variable each.
// api: sqlite
// expect: moves
#include <stddef.h>

#include <sqlite3.h>

void pay(sqlite3 *db, int region, int customer)
{
    sqlite3_stmt *first, *second;

    sqlite3_prepare_v2(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = ?", -1, &first,
                       NULL);
    sqlite3_prepare_v2(db, "UPDATE customer SET c_visits = 1 WHERE c_id = ?", -1, &second, NULL);
    sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
    sqlite3_bind_int(second, 1, customer);
    sqlite3_step(second);
    sqlite3_bind_int(first, 1, region);
    sqlite3_step(first);
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    sqlite3_finalize(first);
    sqlite3_finalize(second);
}
