// If an iteration reads no price, it uses the one that the later part left in an earlier iteration:
// the earlier parts alone do not have it.
// server: mysql
// splits: yes
// expect: unchanged
#include "shop.h"

void order(struct db *db, const long *items, long region, long customer)
{
    long price = 1, sum = 0;

    db_begin(db);
    for (int i = 0; i < 15; i++) {
        if (items[i] > 0)
            price = db_number(db, "SELECT i_price FROM item WHERE i_id = ?", items[i]);
        sum += items[i];
        price = db_run(db, "UPDATE region SET r_total = r_total + ? WHERE r_id = ?", price, region);
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - ? WHERE c_id = ?", sum, customer);
    db_commit(db);
}
