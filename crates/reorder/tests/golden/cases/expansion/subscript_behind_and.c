// The second operand of `&&` is not evaluated in each iteration: `limits[i]` does not bound their number.
// splits: yes
// expect: unchanged
#include "shop.h"

struct order {
    int count;
    long limits[20];
    long customer;
};

void order(struct db *db, const struct order *order, long region)
{
    long price, sum = 0;

    db_begin(db);
    for (int i = 0; i < order->count; i++) {
        price = db_number(db, "SELECT i_price FROM item WHERE i_id = $1", region + i);
        sum += region > 2 && order->limits[i] > 3;
        db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = $2", price, region);
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = $2", sum, order->customer);
    db_commit(db);
}
