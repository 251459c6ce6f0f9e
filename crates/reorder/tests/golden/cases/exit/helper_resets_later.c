// A helper resets all statements, but behind the first exit, which resets its own one only.
// api: sqlite
// function: pay
// expect: unchanged
// keeps: exit, it leaves without resetting
#include <stddef.h>

#include <sqlite3.h>

static sqlite3_stmt *region, *visit;

static void reset_all(void)
{
    sqlite3_reset(region);
    sqlite3_reset(visit);
}

void prepare(sqlite3 *db);
void prepare(sqlite3 *db)
{
    sqlite3_prepare_v2(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", -1, &region,
                       NULL);
    sqlite3_prepare_v2(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 1", -1,
                       &visit, NULL);
}

int pay(sqlite3 *db)
{
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    if (sqlite3_step(region) != SQLITE_DONE) {
        sqlite3_reset(region);
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return -2;
    }
    if (sqlite3_step(visit) != SQLITE_DONE) {
        reset_all();
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return -3;
    }
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    reset_all();
    return 0;
}
