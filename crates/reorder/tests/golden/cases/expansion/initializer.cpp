// In C++, the exits jump past the declaration of the array: it has no initializer.
// server: mysql
// objective: position
// splits: yes
// expect: moves
#include "shop.h"

void order(struct db *db, const long *items, long region, long customer)
{
    long sum = 0;

    db_begin(db);
    for (int i = 0; i < 15; i++) {
        const long price = db_number(db, "SELECT i_price FROM item WHERE i_id = ?", items[i]);
        sum += price;
        if (db_run(db, "UPDATE region SET r_total = r_total + ? WHERE r_id = ?", price, region) != 0) {
            db_rollback(db);
            return;
        }
    }
    if (db_run(db, "UPDATE customer SET c_balance = c_balance - ? WHERE c_id = ?", sum, customer) != 0) {
        db_rollback(db);
        return;
    }
    db_commit(db);
}
