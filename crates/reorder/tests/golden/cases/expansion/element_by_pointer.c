// The array that `price` leads to is kept, and the pointer computed again.
// objective: position
// splits: yes
// expect: moves
#include <string.h>

#include "shop.h"

void order(struct db *db, const long *items, long region, long customer)
{
    long prices[2] = { 0, 0 }, *price, sum = 0;

    db_begin(db);
    for (int i = 0; i < 15; i++) {
        price = &prices[i % 2];
        *price = db_number(db, "SELECT i_price FROM item WHERE i_id = $1", items[i]);
        sum += *price;
        db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = $2", *price, region);
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = $2", sum, customer);
    db_commit(db);
}
