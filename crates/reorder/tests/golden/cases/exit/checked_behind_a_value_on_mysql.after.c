// A value of the last query stands between the update of the customer and its check. The update of
// the region moves behind the check all the same.
// server: mysql
// expect: moves
#include "shop.h"

int visit(struct db *db, int amount)
{
    int failed, price;

    db_begin(db);
    failed = db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    price = amount;
    if (failed)
        goto fail;
    if (db_format(db, "UPDATE item SET i_price = %d WHERE i_id = 3", price))
        goto fail;
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
