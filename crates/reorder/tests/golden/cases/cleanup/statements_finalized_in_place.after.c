// Each exit ends both statements itself, and rolls back.
// api: sqlite
// expect: moves
#include <stddef.h>

#include <sqlite3.h>

int pay(sqlite3 *db, int customer)
{
    sqlite3_stmt *region = NULL, *visit = NULL;

    if (sqlite3_prepare_v2(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", -1,
                           &region, NULL) != SQLITE_OK)
        return -1;
    if (sqlite3_prepare_v2(db, "UPDATE customer SET c_visits = 1 WHERE c_id = ?", -1, &visit,
                           NULL) != SQLITE_OK) {
        sqlite3_finalize(region);
        return -1;
    }
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) {
        sqlite3_finalize(region);
        sqlite3_finalize(visit);
        return -1;
    }
    sqlite3_bind_int(visit, 1, customer);
    if (sqlite3_step(visit) != SQLITE_DONE) {
        sqlite3_finalize(region);
        sqlite3_finalize(visit);
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    if (sqlite3_step(region) != SQLITE_DONE) {
        sqlite3_finalize(region);
        sqlite3_finalize(visit);
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) {
        sqlite3_finalize(region);
        sqlite3_finalize(visit);
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    sqlite3_finalize(region);
    sqlite3_finalize(visit);
    return 0;
}
