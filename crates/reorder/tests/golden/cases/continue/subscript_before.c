// The subscript stands before the `continue`, and so bounds all iterations.
// objective: position
// splits: yes
// expect: moves
#include "shop.h"

void order(struct db *db, const long *items, int count, long region, long customer)
{
    long price, prices[15], sum = 0;

    db_begin(db);
    for (int i = 0; i < count; i++) {
        price = db_number(db, "SELECT i_price FROM item WHERE i_id = $1", items[i]);
        prices[i] = price;
        if (price == 0) {
            sum++;
            continue;
        }
        db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = $2", prices[i], region);
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = $2", sum, customer);
    db_commit(db);
}
