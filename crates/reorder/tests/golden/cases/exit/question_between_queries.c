// A query without a check may have ended the transaction before the question. Behind it, each query
// commits by itself.
// api: sqlite
// expect: unchanged
// keeps: barrier, any query before it may have ended the transaction
#include <stddef.h>

#include <sqlite3.h>

int pay(sqlite3 *db)
{
    if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    sqlite3_exec(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", NULL, NULL, NULL);
    if (sqlite3_get_autocommit(db))
        return -2;
    if (sqlite3_exec(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2", NULL, NULL,
                     NULL) != SQLITE_OK)
        goto fail;
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        goto fail;
    return 0;
fail:
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}
