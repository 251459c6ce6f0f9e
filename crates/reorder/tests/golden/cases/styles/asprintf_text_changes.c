// The text that asprintf has made is overwritten before the query.
// api: sqlite
// expect: unchanged
// keeps: barrier, the memory with the SQL text may be written
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

void pay(sqlite3 *db, int region, const char *text)
{
    char *sql;

    sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
    if (asprintf(&sql, "UPDATE region SET r_total = r_total + 1 WHERE r_id = %d", region) < 0)
        return;
    sqlite3_exec(db, sql, NULL, NULL, NULL);
    free(sql);
    if (asprintf(&sql, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = %d", region) < 0)
        return;
    strcpy(sql, text);
    sqlite3_exec(db, sql, NULL, NULL, NULL);
    free(sql);
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
}
