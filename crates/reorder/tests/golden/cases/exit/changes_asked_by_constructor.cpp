// A constructor asks for the rows of the last write.
// api: sqlite
// function: pay
// expect: unchanged
// keeps: outside effect, asks afterwards
#include <cstddef>
#include <cstdio>

#include <sqlite3.h>

struct Changes {
    int count;
    explicit Changes(sqlite3 *db) : count(sqlite3_changes(db)) {}
};

#define RUN(sql) sqlite3_exec(db, sql, NULL, NULL, NULL)

static int pay(sqlite3 *db)
{
    if (RUN("BEGIN IMMEDIATE") != SQLITE_OK)
        return -1;
    if (RUN("UPDATE region SET r_total = r_total + 1 WHERE r_id = 1") != SQLITE_OK)
        goto undo;
    if (RUN("UPDATE customer SET c_visits = c_visits + 1 WHERE c_id < 9") != SQLITE_OK)
        goto undo;
    if (RUN("COMMIT") == SQLITE_OK)
        return 0;
undo:
    RUN("ROLLBACK");
    return -1;
}

int changed_by_payment(sqlite3 *db)
{
    int status = pay(db);
    Changes changes(db);
    return status == 0 ? changes.count : status;
}
