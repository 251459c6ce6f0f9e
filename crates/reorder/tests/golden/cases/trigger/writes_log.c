// The trigger writes the log that the query reads.
// server: sqlite
// expect: unchanged
// schema: CREATE TRIGGER t AFTER UPDATE ON shop BEGIN INSERT INTO log VALUES ('changed'); END;
// keeps: trigger, `shop`
#include "shop.h"

long pay(struct db *db)
{
    long count;

    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = 1");
    count = db_number(db, "SELECT count(*) FROM log");
    db_commit(db);
    return count;
}
