// Both parts have exits that roll back, and the caller sees which query failed or that an item does not
// exist. The status is that of the first part that leaves.
// server: mysql
// objective: position
// splits: yes
// expect: moves
#include "shop.h"

int order(struct db *db, const long *items, long region, long customer)
{
    long price, sum = 0;
    int status = -1;

    db_begin(db);
    for (int i = 0; i < 15; i++) {
        price = db_number(db, "SELECT i_price FROM item WHERE i_id = ?", items[i]);
        if (price < 0) {
            status = 1;
            goto fail;
        }
        sum += price;
        if (db_run(db, "UPDATE region SET r_total = r_total + ? WHERE r_id = ?", price, region) != 0) {
            status = 2;
            goto fail;
        }
    }
    if (db_run(db, "UPDATE customer SET c_balance = c_balance - ? WHERE c_id = ?", sum, customer) != 0)
        goto fail;
    db_commit(db);
    return 0;

fail:
    db_rollback(db);
    return status;
}
