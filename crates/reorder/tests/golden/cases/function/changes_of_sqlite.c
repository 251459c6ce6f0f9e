// SQLite's changes() counts the rows of the update before it.
// server: sqlite
// expect: unchanged
// keeps: function, `changes`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_total < 10");
    db_run(db, "INSERT INTO sale (x_item, x_customer, x_amount) VALUES (1, 2, changes())");
    db_commit(db);
}
