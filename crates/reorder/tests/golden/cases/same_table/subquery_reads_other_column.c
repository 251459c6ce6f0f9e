// The subquery reads the price; the second update assigns the stock.
// expect: moves
#include "shop.h"

void sum(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = (SELECT sum(i_price) FROM item) WHERE s_id = 1");
    db_run(db, "UPDATE item SET i_stock = i_stock - 1 WHERE i_id = 5");
    db_commit(db);
}
