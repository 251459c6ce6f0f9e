// The view reads the table that the update writes.
// expect: unchanged
// schema: CREATE VIEW rich AS SELECT s_id, s_total FROM shop WHERE s_total > 100;
// keeps: same table, both use the table `shop`
#include "shop.h"

long pay(struct db *db)
{
    long count;

    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = 1");
    count = db_number(db, "SELECT count(*) FROM rich");
    db_commit(db);
    return count;
}
