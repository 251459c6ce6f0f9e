// No foreign key leads from sales to items.
// expect: moves
#include "shop.h"

void discard(struct db *db)
{
    db_begin(db);
    db_run(db, "INSERT INTO sale (x_item, x_customer, x_amount) VALUES (5, 1, 0)");
    db_run(db, "DELETE FROM item WHERE i_id = 5");
    db_commit(db);
}
