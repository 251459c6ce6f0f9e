// The later part reads `items[i]`. An exit of the earlier part may keep it from doing so, in an
// iteration for which an array of 20 has no element.
// splits: yes
// expect: unchanged
#include "shop.h"

struct order {
    int count;
    long items[20];
    long amounts[10];
    long customer;
};

void order(struct db *db, const struct order *order, long region)
{
    long price, sum = 0;

    db_begin(db);
    for (int i = 0; i < order->count; i++) {
        price = db_number(db, "SELECT i_price FROM item WHERE i_id = $1", region);
        if (price < 0) {
            db_rollback(db);
            return;
        }
        sum += price;
        db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = $2", price, order->items[i]);
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = $2", sum, order->customer);
    db_commit(db);
}
