// A caller that has the function from a variable asks for the rows of the last write.
// api: sqlite
// function: pay
// expect: unchanged
// keeps: outside effect, asks afterwards
#include <stddef.h>

#include <sqlite3.h>

static int pay(sqlite3 *db)
{
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    if (sqlite3_exec(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", NULL, NULL,
                     NULL) != SQLITE_OK)
        goto undo;
    if (sqlite3_exec(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id < 9", NULL, NULL,
                     NULL) != SQLITE_OK)
        goto undo;
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
        return 0;
undo:
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}

static int (*const run)(sqlite3 *) = pay;

int changed_by_payment(sqlite3 *db)
{
    return run(db) == 0 ? sqlite3_changes(db) : -1;
}
