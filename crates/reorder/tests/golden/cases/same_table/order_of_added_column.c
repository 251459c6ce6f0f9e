// The added column is the first one: the row has the key 7.
// server: mysql
// schema: CREATE TABLE rate (a_id INTEGER);
// schema: ALTER TABLE rate ADD COLUMN a_rate INTEGER PRIMARY KEY FIRST;
// expect: unchanged
// keeps: same table, `rate`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "INSERT INTO rate VALUES (7, 1)");
    db_run(db, "SELECT a_id FROM rate WHERE a_rate = 7");
    db_commit(db);
}
