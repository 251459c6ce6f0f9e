// An item without a price ends its iteration. An array keeps which iterations go on, so that only
// those update the region, the most contended, behind the customer.
// objective: position
// splits: yes
// expect: moves
#include "shop.h"

void order(struct db *db, const long *items, long region, long customer)
{
    long price, sum = 0;

    db_begin(db);
    char reached_at[15] = {0};
    for (int i = 0; i < 15; i++) {
        price = db_number(db, "SELECT i_price FROM item WHERE i_id = $1", items[i]);
        if (price == 0) {
            sum++;
            continue;
        }
        reached_at[i] = 1;
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = $2", sum, customer);
    for (int i = 0; i < 15; i++) {
        if (!reached_at[i]) continue;
        db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = $1", region);
    }
    db_commit(db);
}
