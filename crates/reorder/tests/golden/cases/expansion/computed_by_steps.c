// `amount` depends on `key`, which depends on the iteration: both are computed again.
// objective: position
// splits: yes
// expect: moves
#include "shop.h"

void order(struct db *db, const long *items, long region, long customer)
{
    long sum = 0, key, amount;

    db_begin(db);
    for (int i = 0; i < 15; i++) {
        key = items[i] + region;
        amount = 2 * key;
        sum += db_number(db, "SELECT i_price FROM item WHERE i_id = $1", amount);
        db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = $2", amount, key);
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = $2", sum, customer);
    db_commit(db);
}
