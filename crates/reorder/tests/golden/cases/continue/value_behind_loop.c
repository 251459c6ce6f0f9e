// Behind the loop, the price is that of the last iteration, which may have ended by `continue`. The
// later part of an earlier iteration would begin with that iteration's price and leave it there.
// splits: yes
// expect: unchanged
#include "shop.h"

void order(struct db *db, const long *items, long region, long customer)
{
    long price = 0;

    db_begin(db);
    for (int i = 0; i < 15; i++) {
        if ((price = db_number(db, "SELECT i_price FROM item WHERE i_id = $1", items[i])) == 0)
            continue;
        db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = $2", price, region);
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = $2", price, customer);
    db_commit(db);
}
