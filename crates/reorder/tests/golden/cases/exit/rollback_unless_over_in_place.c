// Each exit rolls back unless the server has done it.
// api: sqlite
// expect: moves
#include <stddef.h>

#include <sqlite3.h>

int pay(sqlite3 *db)
{
    if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    if (sqlite3_exec(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", NULL, NULL,
                     NULL) != SQLITE_OK) {
        if (!sqlite3_get_autocommit(db))
            sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    if (sqlite3_exec(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2", NULL, NULL,
                     NULL) != SQLITE_OK) {
        if (!sqlite3_get_autocommit(db))
            sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) {
        if (!sqlite3_get_autocommit(db))
            sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    return 0;
}
