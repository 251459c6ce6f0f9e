// The counter has no sign and passes 0: it goes on from its greatest value.
// splits: yes
// expect: unchanged
#include "shop.h"

void order(struct db *db, long region, long customer)
{
    long price, sum = 0;

    db_begin(db);
    for (unsigned i = 5; i > 0; i -= 2) {
        price = db_number(db, "SELECT i_price FROM item WHERE i_id = $1", region + i);
        sum += price;
        db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = $2", price, region);
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = $2", sum, customer);
    db_commit(db);
}
