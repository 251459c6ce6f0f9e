// expect: unchanged
// keeps: same table, both use the table `item`
#include "shop.h"

void sum(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = (SELECT sum(i_price) FROM item) WHERE s_id = 1");
    db_run(db, "UPDATE item SET i_price = i_price + 1 WHERE i_id = 5");
    db_commit(db);
}
