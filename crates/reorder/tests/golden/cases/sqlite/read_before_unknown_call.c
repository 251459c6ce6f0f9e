// A query that only reads leaves the number of changed rows as it was.
// api: sqlite
// expect: moves
// keeps: barrier, calls `changed`
#include <sqlite3.h>

long long changed(sqlite3 *db);

int pay(sqlite3 *db, long long *out)
{
    if (sqlite3_exec(db, "BEGIN", 0, 0, 0))
        return -1;
    if (sqlite3_exec(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", 0, 0, 0))
        goto fail;
    if (sqlite3_exec(db, "SELECT c_visits FROM customer WHERE c_id = 2", 0, 0, 0))
        goto fail;
    if (sqlite3_exec(db, "UPDATE shop SET s_total = 1 WHERE s_id = 2", 0, 0, 0))
        goto fail;
    *out = changed(db);
    if (sqlite3_exec(db, "COMMIT", 0, 0, 0))
        goto fail;
    return 0;
fail:
    sqlite3_exec(db, "ROLLBACK", 0, 0, 0);
    return -1;
}
