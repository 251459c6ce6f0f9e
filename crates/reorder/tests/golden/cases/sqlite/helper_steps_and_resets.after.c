// A helper binds, steps and resets, and returns whether the statement is done: of a write, its
// exit is taken only because the write has failed.
// api: sqlite
// expect: moves
#include <stdbool.h>
#include <stddef.h>

#include <sqlite3.h>

static bool run(sqlite3_stmt *statement, int value)
{
    bool ok;

    sqlite3_bind_int(statement, 1, value);
    ok = sqlite3_step(statement) == SQLITE_DONE;
    sqlite3_reset(statement);
    return ok;
}

int pay(sqlite3 *db, int region, int item)
{
    sqlite3_stmt *add = NULL, *insert = NULL;
    int status = -1;

    if (sqlite3_prepare_v2(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = ?", -1, &add,
                           NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, "INSERT INTO item VALUES (?, 1, 'x', 1, 1)", -1, &insert, NULL) !=
            SQLITE_OK)
        goto done;
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        goto done;
    if (!run(insert, item))
        goto undo;
    if (!run(add, region))
        goto undo;
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        goto undo;
    status = 0;
    goto done;
undo:
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
done:
    sqlite3_finalize(add);
    sqlite3_finalize(insert);
    return status;
}
