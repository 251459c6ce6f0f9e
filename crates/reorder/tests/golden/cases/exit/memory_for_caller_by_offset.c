// The caller gets a pointer into the memory, and frees it.
// api: sqlite
// function: pay
// expect: unchanged
// keeps: exit, it leaves without ending what is made
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <sqlite3.h>

#define RUN(sql) sqlite3_exec(db, sql, NULL, NULL, NULL)

char *pay(sqlite3 *db, int customer)
{
    char *text;

    if (RUN("BEGIN IMMEDIATE") != SQLITE_OK)
        return NULL;
    if (RUN("UPDATE region SET r_total = r_total + 1 WHERE r_id = 1") != SQLITE_OK) {
        RUN("ROLLBACK");
        return NULL;
    }
    text = malloc(20);
    if (text == NULL) {
        RUN("ROLLBACK");
        return NULL;
    }
    snprintf(text, 20, "-%d", customer);
    if (RUN("UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 1") != SQLITE_OK) {
        RUN("ROLLBACK");
        return text + 1;
    }
    if (RUN("COMMIT") != SQLITE_OK)
        RUN("ROLLBACK");
    return text + 1;
}
