// At repeatable read MySQL's plain reads lock nothing.
// server: mysql
// isolation: repeatable read
// expect: moves
#include "shop.h"

long take(struct db *db)
{
    long price;

    db_begin(db);
    price = db_number(db, "SELECT i_price FROM item WHERE i_id = 5");
    db_run(db, "UPDATE item SET i_stock = i_stock - 1 WHERE i_id = 5");
    db_commit(db);
    return price;
}
