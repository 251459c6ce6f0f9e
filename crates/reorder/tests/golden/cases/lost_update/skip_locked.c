// A read that leaves out locked rows decides without them: behind it, the lock of the region would
// not keep another transaction out that holds the item and then rolls back.
// server: postgresql
// expect: unchanged
// keeps: lost update
#include "shop.h"

int take(struct db *db)
{
    long item;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    item = db_number(db, "SELECT i_id FROM item WHERE i_stock > 0 FOR UPDATE SKIP LOCKED");
    if (item == 0)
        db_run(db, "INSERT INTO log VALUES ('waiting')");
    else
        db_run(db, "UPDATE item SET i_stock = i_stock - 1 WHERE i_id = $1", item);
    db_commit(db);
    return 0;
}
