// A rule of PostgreSQL rewrites the update: it also writes the log.
// expect: unchanged
// schema: CREATE RULE r AS ON UPDATE TO shop DO ALSO INSERT INTO log VALUES ('changed');
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
