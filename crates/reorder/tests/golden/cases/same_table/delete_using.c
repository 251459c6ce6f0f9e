// expect: unchanged
// keeps: same table, both use the table `item`
#include "shop.h"

void clean(struct db *db)
{
    db_begin(db);
    db_run(db, "DELETE FROM shop USING item WHERE i_shop = s_id AND i_stock < 0");
    db_run(db, "UPDATE item SET i_stock = 0 WHERE i_stock < 0");
    db_commit(db);
}
