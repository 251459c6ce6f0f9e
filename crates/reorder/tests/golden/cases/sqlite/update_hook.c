// The hook notes the row that was changed last.
// api: sqlite
// expect: unchanged
// keeps: barrier, which `watch` registers by `sqlite3_update_hook`
#include <stddef.h>

#include <sqlite3.h>

static sqlite3_int64 last;

static void on_update(void *to, int what, const char *base, const char *table, sqlite3_int64 row)
{
    (void)what;
    (void)base;
    (void)table;
    *(sqlite3_int64 *)to = row;
}

void watch(sqlite3 *db)
{
    sqlite3_update_hook(db, on_update, &last);
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
