/* A transfer over SQLite: sqlite3_exec and prepared statements. */
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "transfer.h"

int transfer(sqlite3 *db, struct transfer *t)
{
    sqlite3_stmt *stmt;
    int code;

    if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return -1;

    if (sqlite3_prepare_v2(db, "UPDATE bank SET b_total = b_total + ? WHERE b_id = 1", -1, &stmt,
                           NULL) != SQLITE_OK)
        goto fail;
    sqlite3_bind_int(stmt, 1, t->amount);
    code = sqlite3_step(stmt);
    sqlite3_finalize(stmt);
    if (code != SQLITE_DONE)
        goto fail;

    if (sqlite3_prepare_v2(db, "UPDATE account SET a_balance = a_balance + ? WHERE a_id = ?", -1,
                           &stmt, NULL) != SQLITE_OK)
        goto fail;
    sqlite3_bind_int(stmt, 1, t->amount);
    sqlite3_bind_int(stmt, 2, t->account);
    code = sqlite3_step(stmt);
    sqlite3_finalize(stmt);
    if (code != SQLITE_DONE)
        goto fail;

    if (sqlite3_prepare_v2(db, "SELECT a_balance, a_name FROM account WHERE a_id = ?", -1, &stmt,
                           NULL) != SQLITE_OK)
        goto fail;
    sqlite3_bind_int(stmt, 1, t->account);
    if (sqlite3_step(stmt) != SQLITE_ROW) {
        sqlite3_finalize(stmt);
        goto fail;
    }
    t->balance = sqlite3_column_int(stmt, 0);
    snprintf(t->name, sizeof t->name, "%s", (const char *)sqlite3_column_text(stmt, 1));
    sqlite3_finalize(stmt);

    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        goto fail;
    printf("moved %d\n", t->amount);
    return 0;

fail:
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return -2;
}
