// SQLite's datetime() is the time of the query: the first one has the earlier time.
// server: sqlite
// expect: unchanged
// keeps: function, `datetime`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE shop SET s_name = datetime('now') WHERE s_id = 1");
    db_run(db, "INSERT INTO sale VALUES (1, 2, 3, datetime('now'))");
    db_commit(db);
}
