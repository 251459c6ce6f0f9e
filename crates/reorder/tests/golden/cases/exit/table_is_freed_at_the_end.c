// The rows of a table are made by the query, and freed behind the commit.
// api: sqlite
// function: pay
// expect: unchanged
// keeps: exit, it leaves without ending what is made
#include <stddef.h>

#include <sqlite3.h>

#define RUN(sql) sqlite3_exec(db, sql, NULL, NULL, NULL)

int pay(sqlite3 *db)
{
    char **rows = NULL;
    int count = 0, columns = 0;

    if (RUN("BEGIN IMMEDIATE") != SQLITE_OK)
        return -1;
    if (RUN("UPDATE region SET r_total = r_total + 1 WHERE r_id = 1") != SQLITE_OK) {
        RUN("ROLLBACK");
        return -2;
    }
    if (sqlite3_get_table(db, "SELECT c_balance FROM customer WHERE c_id = 1", &rows, &count,
                          &columns, NULL) != SQLITE_OK) {
        RUN("ROLLBACK");
        return -3;
    }
    if (RUN("COMMIT") != SQLITE_OK) {
        sqlite3_free_table(rows);
        RUN("ROLLBACK");
        return -4;
    }
    sqlite3_free_table(rows);
    return count * columns;
}
