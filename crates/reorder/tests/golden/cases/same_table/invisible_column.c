// The insert gives the invisible column no value: its key is 7.
// server: mysql
// schema: CREATE TABLE rate (a_note INTEGER DEFAULT 0 INVISIBLE, a_id INTEGER PRIMARY KEY, a_rate INTEGER) ENGINE=InnoDB;
// expect: unchanged
// keeps: same table, `rate`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "INSERT INTO rate VALUES (7, 1)");
    db_run(db, "UPDATE rate SET a_rate = 3 WHERE a_id = 7");
    db_commit(db);
}
