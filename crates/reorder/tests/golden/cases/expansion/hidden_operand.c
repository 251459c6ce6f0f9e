// `key` is not computed again where `shift` means another variable.
// objective: position
// splits: yes
// expect: moves
#include "shop.h"

void order(struct db *db, long shift, long region, long customer)
{
    long sum = 0;

    db_begin(db);
    for (int i = 0; i < 15; i++) {
        const long key = i + shift;
        long shift = db_number(db, "SELECT i_price FROM item WHERE i_id = $1", key);
        sum += shift;
        db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = $2", shift, key + region);
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = $2", sum, customer);
    db_commit(db);
}
