// A cast to a wide type leaves the bound as it is.
// objective: position
// splits: yes
// expect: moves
#include "shop.h"

void order(struct db *db, const long *items, long region, long customer)
{
    long price, sum = 0;

    db_begin(db);
    for (int i = (int)0L; i < (long)14; i++) {
        price = db_number(db, "SELECT i_price FROM item WHERE i_id = $1", items[i]);
        sum += price;
        db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = $2", price, region);
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = $2", sum, customer);
    db_commit(db);
}
