// expect: unchanged
// keeps: same table, both use the table `item`
#include "shop.h"

long clean(struct db *db)
{
    long count;

    db_begin(db);
    db_run(db, "DELETE FROM item WHERE i_stock = 0");
    count = db_number(db, "SELECT count(*) FROM item");
    db_commit(db);
    return count;
}
