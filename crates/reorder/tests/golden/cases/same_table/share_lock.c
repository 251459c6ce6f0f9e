// FOR SHARE waits for writers: its order with the update of the table stays.
// isolation: serializable
// expect: unchanged
// keeps: same table, both use the table `shop`
#include "shop.h"

long pay(struct db *db)
{
    long region;

    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = 1");
    region = db_number(db, "SELECT s_region FROM shop WHERE s_id = 1 FOR SHARE");
    db_commit(db);
    return region;
}
