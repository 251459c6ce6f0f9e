// A later call reads `busy`: an exit that left it at 1 would stop each of them.
// expect: unchanged
// keeps: outside effect, a later call reads `busy`
// relaxed reads: yes
#include "shop.h"

int pay(struct db *db, int item)
{
    static int busy;
    int price;

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (busy)
        goto fail;
    busy = 1;
    price = 0;
    if (db_run(db, "UPDATE item SET i_stock = i_stock - 1 WHERE i_id = $1", item)) {
        busy = 0;
        goto fail;
    }
    if (db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = 1", price)) {
        busy = 0;
        goto fail;
    }
    busy = 0;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
