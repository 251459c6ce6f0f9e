// The two updates of the customer keep their order, since the second wins; the region goes last.
// expect: moves
// keeps: same table, both use the table `customer`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE customer SET c_visits = 7 WHERE c_id = 2");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_visits = 8 WHERE c_id = 2");
    db_commit(db);
}
