// The text is bound by its address and replaced for the second statement, behind the first one's
// step: the three calls of each statement move together.
// api: sqlite
// expect: moves
#include <stddef.h>
#include <stdio.h>

#include <sqlite3.h>

void pay(sqlite3 *db, int amount)
{
    sqlite3_stmt *region, *customer;
    char text[32];

    sqlite3_prepare_v2(db, "UPDATE region SET r_name = ? WHERE r_id = 1", -1, &region, NULL);
    sqlite3_prepare_v2(db, "UPDATE customer SET c_name = ? WHERE c_id = 1", -1, &customer, NULL);
    sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
    snprintf(text, sizeof text, "%d", amount);
    sqlite3_bind_text(region, 1, text, -1, SQLITE_STATIC);
    sqlite3_step(region);
    snprintf(text, sizeof text, "%d", -amount);
    sqlite3_bind_text(customer, 1, text, -1, SQLITE_STATIC);
    sqlite3_step(customer);
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    sqlite3_finalize(region);
    sqlite3_finalize(customer);
}
