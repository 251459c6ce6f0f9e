/* A transfer over SQLite: texts alone. */
#include <stdio.h>

#include <sqlite3.h>

#include "transfer.h"

int transfer(sqlite3 *db, struct transfer *t)
{
    char sql[128];

    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    snprintf(sql, sizeof sql, "UPDATE bank SET b_total = b_total + %d WHERE b_id = 1", t->amount);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        goto fail;
    snprintf(sql, sizeof sql, "INSERT INTO entry (e_account, e_amount) VALUES (%d, %d)",
             t->account, t->amount);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        goto fail;
    t->balance = (int)sqlite3_last_insert_rowid(db);
    snprintf(sql, sizeof sql, "UPDATE account SET a_balance = a_balance + %d WHERE a_id = %d",
             t->amount, t->account);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        goto fail;
    if (sqlite3_changes(db) != 1)
        goto fail;
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        goto fail;
    return 0;

fail:
    fprintf(stderr, "transfer: %s\n", sqlite3_errmsg(db));
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return -2;
}
