// The earlier part of an iteration uses the price of the iteration before.
// objective: position
// splits: yes
// expect: moves
#include "shop.h"

void order(struct db *db, const long *items, long region, long customer)
{
    long price = 0, sum = 0;

    db_begin(db);
    long price_at[15];
    for (int i = 0; i < 15; i++) {
        sum += price;
        price = db_number(db, "SELECT i_price FROM item WHERE i_id = $1", items[i]);
        sum += price;
        price_at[i] = price;
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = $2", sum, customer);
    for (int i = 0; i < 15; i++) {
        price = price_at[i];
        db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = $2", price, region);
    }
    db_commit(db);
}
