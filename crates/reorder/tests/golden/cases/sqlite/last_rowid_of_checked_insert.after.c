// The number is that of the sale, the last insert: the question moves with it.
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
    if (sqlite3_exec(db,
                     "INSERT INTO region VALUES (3, 'south', 0, 0) "
                     "ON CONFLICT (r_id) DO UPDATE SET r_count = r_count + 1",
                     NULL, NULL, NULL)) {
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    return id;
}
