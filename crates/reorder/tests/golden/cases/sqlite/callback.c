// The callback is called for each row: what it does is not followed.
// api: sqlite
// expect: unchanged
// keeps: barrier
#include <stddef.h>

#include <sqlite3.h>

static int row(void *to, int count, char **values, char **names)
{
    (void)names;
    *(char **)to = count > 0 ? values[0] : NULL;
    return 0;
}

void pay(sqlite3 *db)
{
    char *total;

    sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
    sqlite3_exec(db, "UPDATE region SET r_total = 1 WHERE r_id = 1", NULL, NULL, NULL);
    sqlite3_exec(db, "SELECT c_balance FROM customer WHERE c_id = 2", row, &total, NULL);
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
}
