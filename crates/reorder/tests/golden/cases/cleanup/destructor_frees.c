// The end of the statement frees the text, and nothing else.
// api: sqlite
// function: pay
// expect: moves
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

int pay(sqlite3 *db, const char *name)
{
    sqlite3_stmt *region = NULL, *customer = NULL;

    if (sqlite3_prepare_v2(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", -1,
                           &region, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, "UPDATE customer SET c_name = ? WHERE c_id = 1", -1, &customer,
                           NULL) != SQLITE_OK)
        goto done;
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        goto done;
    if (sqlite3_step(region) != SQLITE_DONE)
        goto undo;
    if (sqlite3_bind_text(customer, 1, strdup(name), -1, free) != SQLITE_OK)
        goto undo;
    if (sqlite3_step(customer) != SQLITE_DONE)
        goto undo;
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
        goto done;
undo:
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
done:
    sqlite3_finalize(region);
    sqlite3_finalize(customer);
    return 0;
}
