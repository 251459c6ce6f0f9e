// `key` was computed before the element changed: it is not computed again.
// objective: position
// splits: yes
// expect: moves
#include "shop.h"

void order(struct db *db, long *items, long region, long customer)
{
    long sum = 0;

    db_begin(db);
    long key_at[15];
    for (int i = 0; i < 15; i++) {
        const long key = items[i] + region;
        sum += db_number(db, "SELECT i_price FROM item WHERE i_id = $1", key);
        items[i] = sum;
        key_at[i] = key;
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = $2", sum, customer);
    for (int i = 0; i < 15; i++) {
        long key = key_at[i];
        db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = $1", key);
    }
    db_commit(db);
}
