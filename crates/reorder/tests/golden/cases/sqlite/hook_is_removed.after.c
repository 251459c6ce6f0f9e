// The file only removes a hook.
// api: sqlite
// expect: moves
#include <stddef.h>

#include <sqlite3.h>

void watch(sqlite3 *db)
{
    sqlite3_update_hook(db, NULL, NULL);
}

int pay(sqlite3 *db)
{
    if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    if (sqlite3_exec(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2", NULL, NULL, NULL) !=
        SQLITE_OK)
        goto fail;
    if (sqlite3_exec(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", NULL, NULL,
                     NULL) != SQLITE_OK)
        goto fail;
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        goto fail;
    return 0;
fail:
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}
