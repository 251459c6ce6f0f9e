// The file replaces a function of SQLite, so that any query may call it.
// api: sqlite
// expect: unchanged
// keeps: barrier, which `watch` registers by `sqlite3_create_function`
#include <stddef.h>

#include <sqlite3.h>

static int count;

static void next(sqlite3_context *context, int number, sqlite3_value **values)
{
    (void)number;
    (void)values;
    sqlite3_result_int(context, ++count);
}

void watch(sqlite3 *db)
{
    sqlite3_create_function(db, "abs", 1, SQLITE_UTF8, NULL, next, NULL, NULL);
}

int pay(sqlite3 *db)
{
    if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    if (sqlite3_exec(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", NULL, NULL,
                     NULL) != SQLITE_OK)
        goto fail;
    if (sqlite3_exec(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2", NULL, NULL, NULL) !=
        SQLITE_OK)
        goto fail;
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        goto fail;
    return 0;
fail:
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}
