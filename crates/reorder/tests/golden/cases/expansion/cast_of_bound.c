// `(signed char)130` is -126: the counter begins below 0, and is no index of an array.
// objective: position
// splits: yes
// expect: unchanged
#include "shop.h"

void order(struct db *db, const long *items, long region, long customer)
{
    long price, sum = 0;

    db_begin(db);
    for (int i = (signed char)130; i < 140; i++) {
        price = db_number(db, "SELECT i_price FROM item WHERE i_id = $1", items[i + 126]);
        sum += price;
        db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = $2", price, region);
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = $2", sum, customer);
    db_commit(db);
}
