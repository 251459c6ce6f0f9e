// The trigger runs for deletes only.
// server: sqlite
// expect: moves
// schema: CREATE TRIGGER t AFTER DELETE ON shop BEGIN INSERT INTO log VALUES ('gone'); END;
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
