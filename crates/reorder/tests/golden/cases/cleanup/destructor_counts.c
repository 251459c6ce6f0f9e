// The end of the statement calls a function of the program, if the text was bound.
// api: sqlite
// function: pay
// expect: unchanged
// keeps: barrier, a query may call code of the program
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

static int given_back;

static void give_back(void *text)
{
    given_back++;
    free(text);
}

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
    if (sqlite3_bind_text(customer, 1, strdup(name), -1, give_back) != SQLITE_OK)
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
    return given_back;
}
