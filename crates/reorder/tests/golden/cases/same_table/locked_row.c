// FOR UPDATE is a write for other transactions: its order with the update of the row stays.
// expect: unchanged
// keeps: same table, both use the table `shop`
#include "shop.h"

long pay(struct db *db)
{
    long region;

    db_begin(db);
    region = db_number(db, "SELECT s_region FROM shop WHERE s_id = 1 FOR UPDATE");
    db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = 1");
    db_commit(db);
    return region;
}
