// expect: unchanged
// keeps: barrier, `x_itm`; did you mean `x_item`?
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "INSERT INTO sale (x_itm, x_customer, x_amount) VALUES (1, 2, 3)");
    db_commit(db);
}
