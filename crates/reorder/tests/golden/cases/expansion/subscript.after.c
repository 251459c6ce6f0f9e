// The number of iterations is not a constant, but each iteration reads `items[i]` of 20 and `amounts[i]`
// of 10 before it gets to the end of its earlier part.
// objective: position
// splits: yes
// expect: moves
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
    long price_at[10];
    for (int i = 0; i < order->count; i++) {
        price = db_number(db, "SELECT i_price FROM item WHERE i_id = $1", order->items[i]) * order->amounts[i];
        sum += price;
        price_at[i] = price;
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = $2", sum, order->customer);
    for (int i = 0; i < order->count; i++) {
        price = price_at[i];
        db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = $2", price, region);
    }
    db_commit(db);
}
