// The check behind the loop is one of the statement that it prepares, and none of the query in the
// loop, which moves behind the read.
// api: sqlite
// expect: moves
#include <stddef.h>
#include <sqlite3.h>

int visit(sqlite3 *db, const int *ids, int count)
{
    sqlite3_stmt *stmt = NULL, *query = NULL;
    int i, rc, price = 0;

    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    if (sqlite3_prepare_v2(db, "SELECT i_price FROM item WHERE i_id = 1", -1, &stmt, NULL)
        != SQLITE_OK)
        goto fail;
    if (sqlite3_step(stmt) == SQLITE_ROW)
        price = sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    stmt = NULL;
    for (i = 0; i < count; i++) {
        if (sqlite3_prepare_v2(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = ?", -1,
                               &query, NULL) != SQLITE_OK)
            goto fail;
        sqlite3_bind_int(query, 1, ids[i]);
        rc = sqlite3_step(query);
        sqlite3_finalize(query);
        query = NULL;
        if (rc != SQLITE_DONE)
            goto fail;
    }
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        goto fail;
    return price;
fail:
    sqlite3_finalize(stmt);
    sqlite3_finalize(query);
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}
