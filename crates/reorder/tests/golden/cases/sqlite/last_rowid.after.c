// The question moves with the insert; the update changes no row number.
// api: sqlite
// expect: moves
#include <stddef.h>

#include <sqlite3.h>

long long pay(sqlite3 *db)
{
    long long id;

    sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
    if (sqlite3_exec(db, "INSERT INTO sale VALUES (1, 2, 3, 'x')", NULL, NULL, NULL) != SQLITE_OK) {
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    id = sqlite3_last_insert_rowid(db);
    if (sqlite3_exec(db, "UPDATE region SET r_total = 1 WHERE r_id = 1", NULL, NULL, NULL)) {
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    return id;
}
