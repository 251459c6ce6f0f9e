// The table gets the number of rows of the last update.
// api: sqlite
// expect: unchanged
// keeps: barrier, last query before it has left: it runs `CREATE TABLE
#include <sqlite3.h>

int pay(sqlite3 *db)
{
    if (sqlite3_exec(db, "BEGIN", 0, 0, 0))
        return -1;
    if (sqlite3_exec(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", 0, 0, 0))
        goto fail;
    if (sqlite3_exec(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2", 0, 0, 0))
        goto fail;
    if (sqlite3_exec(db, "CREATE TABLE n AS SELECT changes() AS c", 0, 0, 0))
        goto fail;
    if (sqlite3_exec(db, "COMMIT", 0, 0, 0))
        goto fail;
    return 0;
fail:
    sqlite3_exec(db, "ROLLBACK", 0, 0, 0);
    return -1;
}
