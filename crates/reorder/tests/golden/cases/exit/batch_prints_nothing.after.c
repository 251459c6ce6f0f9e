// Each order is a transaction of its own, which reads nothing of the one before.
// api: sqlite
// function: pay
// expect: moves
#include <stddef.h>
#include <stdio.h>

#include <sqlite3.h>

int pay(sqlite3 *db, int a, int b)
{
    int failed = 0, lost = 0, amount = 0;
    char text[99];
    for (int i = a; i < a + 3; i++) {
        if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) return -1;
        amount = 10 * i;
        snprintf(text, sizeof text, "INSERT INTO sale VALUES (%d, %d, 1, NULL)", i, b);
        if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK) goto undo;
        snprintf(text, sizeof text, "UPDATE region SET r_total = r_total + %d WHERE r_id = 1",
                 amount);
        if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK) goto undo;
        if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) goto undo;
        continue;
    undo:
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        lost += amount;
        failed++;
    }
    return failed * 1000 + lost;
}
