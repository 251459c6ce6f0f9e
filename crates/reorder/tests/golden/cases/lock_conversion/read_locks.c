// At serializable MySQL's reads lock shared: before the update that would convert the lock.
// server: mysql
// isolation: serializable
// expect: moves
// keeps: lock conversion, it would lock rows of `item` shared first
#include "shop.h"

long take(struct db *db)
{
    long price;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE item SET i_stock = i_stock - 1 WHERE i_id = 5");
    price = db_number(db, "SELECT i_price FROM item WHERE i_id = 5");
    db_commit(db);
    return price;
}
