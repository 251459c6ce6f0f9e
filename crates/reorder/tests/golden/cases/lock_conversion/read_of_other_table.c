// At serializable the read locks items, which the update does not write.
// server: mysql
// isolation: serializable
// expect: moves
#include "shop.h"

long take(struct db *db)
{
    long price;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    price = db_number(db, "SELECT i_price FROM item WHERE i_id = 5");
    db_commit(db);
    return price;
}
