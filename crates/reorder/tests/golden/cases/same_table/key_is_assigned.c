// The update moves row 1 to key 2, which the query then reads.
// expect: unchanged
// keeps: same table, both use the table `shop`
#include "shop.h"

long rename(struct db *db)
{
    long total;

    db_begin(db);
    db_run(db, "UPDATE shop SET s_id = 2 WHERE s_id = 1");
    total = db_number(db, "SELECT s_total FROM shop WHERE s_id = 2");
    db_commit(db);
    return total;
}
