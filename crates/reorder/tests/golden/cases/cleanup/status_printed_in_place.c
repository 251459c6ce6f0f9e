// The exit of the customer prints whether the region's statement has failed.
// api: sqlite
// expect: unchanged
// keeps: read after write, it writes the result of a query
#include <stddef.h>
#include <stdio.h>

#include <sqlite3.h>

int pay(sqlite3 *db, int customer)
{
    sqlite3_stmt *region = NULL, *visit = NULL;

    sqlite3_prepare_v2(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", -1, &region,
                       NULL);
    sqlite3_prepare_v2(db, "UPDATE customer SET c_visits = 1 WHERE c_id = ?", -1, &visit, NULL);
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    if (sqlite3_step(region) != SQLITE_DONE) {
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        sqlite3_finalize(region);
        sqlite3_finalize(visit);
        return -1;
    }
    sqlite3_bind_int(visit, 1, customer);
    if (sqlite3_step(visit) != SQLITE_DONE) {
        printf("%d\n", sqlite3_reset(region));
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        sqlite3_finalize(region);
        sqlite3_finalize(visit);
        return -1;
    }
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    sqlite3_finalize(region);
    sqlite3_finalize(visit);
    return 0;
}
