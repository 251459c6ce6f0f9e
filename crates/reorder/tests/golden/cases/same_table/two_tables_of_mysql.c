// One update of MySQL writes both tables.
// server: mysql
// expect: unchanged
// keeps: same table, both use the table `item`
#include "shop.h"

void clean(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE shop, item SET s_total = 0, i_stock = 0 WHERE i_shop = s_id");
    db_run(db, "UPDATE item SET i_stock = i_stock + 1 WHERE i_id = 3");
    db_commit(db);
}
