// The caller asks how many rows the last write has changed, which is the insert.
// api: sqlite
// function: sell
// expect: unchanged
// keeps: outside effect, `sell_and_print` asks afterwards for what the last write has left
#include <stddef.h>
#include <stdio.h>
#include <sqlite3.h>

static int run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;
}

static long long last(sqlite3 *db)
{
    return sqlite3_changes(db);
}

static int sell(sqlite3 *db)
{
    if (run(db, "BEGIN IMMEDIATE"))
        return -1;
    if (run(db, "UPDATE region SET r_total = r_total + 1"))
        goto fail;
    if (run(db, "INSERT INTO sale VALUES (1, 2, 3, 'x')"))
        goto fail;
    return run(db, "COMMIT");
fail:
    run(db, "ROLLBACK");
    return -1;
}

static int try_sell(sqlite3 *db)
{
    return sell(db);
}

void sell_and_print(sqlite3 *db)
{
    if (try_sell(db) == 0)
        printf("%lld\n", last(db));
}
