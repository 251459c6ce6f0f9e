// The insert reads the items whose stock the second query changes.
// expect: unchanged
// keeps: same table, both use the table `item`
#include "shop.h"

void copy(struct db *db)
{
    db_begin(db);
    db_run(db, "INSERT INTO region SELECT i_id, i_name, i_stock, 0 FROM item WHERE i_stock > 5 "
               "ON CONFLICT (r_id) DO UPDATE SET r_total = 0");
    db_run(db, "UPDATE item SET i_stock = 0 WHERE i_stock > 5");
    db_commit(db);
}
