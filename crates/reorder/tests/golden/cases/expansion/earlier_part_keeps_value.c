// If an iteration reads no price, it uses the one of an earlier iteration, which the earlier parts have
// in the same order.
// objective: position
// splits: yes
// expect: moves
#include "shop.h"

void order(struct db *db, const long *items, long region, long customer)
{
    long price = 1, sum = 0;

    db_begin(db);
    for (int i = 0; i < 15; i++) {
        if (items[i] > 0)
            price = db_number(db, "SELECT i_price FROM item WHERE i_id = $1", items[i]);
        sum += items[i] * price;
        db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = $2", price, region);
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = $2", sum, customer);
    db_commit(db);
}
