// The number is that of the customer's update, the last query before the question.
// api: sqlite
// expect: not yet, the number could be that of the first update
#include <stddef.h>

#include <sqlite3.h>

int pay(sqlite3 *db)
{
    int count;

    sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
    sqlite3_exec(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", NULL, NULL, NULL);
    sqlite3_exec(db, "UPDATE customer SET c_visits = 1 WHERE c_shop = 2", NULL, NULL, NULL);
    count = sqlite3_changes(db);
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    return count;
}
