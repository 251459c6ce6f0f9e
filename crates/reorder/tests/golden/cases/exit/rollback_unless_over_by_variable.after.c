// The answer decides by way of a variable.
// api: sqlite
// expect: moves
#include <stddef.h>

#include <sqlite3.h>

int pay(sqlite3 *db)
{
    int is_open;

    if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    if (sqlite3_exec(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2", NULL, NULL,
                     NULL) != SQLITE_OK)
        goto fail;
    if (sqlite3_exec(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", NULL, NULL,
                     NULL) != SQLITE_OK)
        goto fail;
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        goto fail;
    return 0;
fail:
    is_open = !sqlite3_get_autocommit(db);
    if (is_open)
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}
