// The function that asks for the number of the row calls no function with the transaction, and the
// one that calls it has inserted a row of its own in between.
// api: sqlite
// function: sell
// expect: moves
#include <stddef.h>
#include <stdio.h>
#include <sqlite3.h>

static int run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;
}

static long long last(sqlite3 *db)
{
    return sqlite3_last_insert_rowid(db);
}

static int sell(sqlite3 *db)
{
    if (run(db, "BEGIN IMMEDIATE"))
        return -1;
    if (run(db, "INSERT INTO region VALUES (7, 'south', 0, 0) "
                "ON CONFLICT (r_id) DO UPDATE SET r_count = r_count + 1"))
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
    if (try_sell(db) == 0 && run(db, "SELECT 1") == 0) {
        sqlite3_exec(db, "INSERT INTO log VALUES ('sold')", NULL, NULL, NULL);
        printf("%lld\n", last(db));
    }
}

void print_last(sqlite3 *db)
{
    printf("%lld\n", last(db));
}
