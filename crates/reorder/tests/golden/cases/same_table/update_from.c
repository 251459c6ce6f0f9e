// The update joins the customers, whose balance the second query changes.
// expect: unchanged
// keeps: same table, both use the table `customer`
#include "shop.h"

void sum(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = c.c_balance FROM customer c WHERE c.c_shop = s_id");
    db_run(db, "UPDATE customer SET c_balance = 0 WHERE c_id = 2");
    db_commit(db);
}
