// REPLACE deletes the row that stands in its way.
// server: mysql
// expect: unchanged
// keeps: same table, both use the table `shop`
#include "shop.h"

long open_shop(struct db *db)
{
    long count;

    db_begin(db);
    db_run(db, "REPLACE INTO shop VALUES (5, 1, 'new', 0, 0)");
    count = db_number(db, "SELECT count(*) FROM shop WHERE s_total = 0");
    db_commit(db);
    return count;
}
