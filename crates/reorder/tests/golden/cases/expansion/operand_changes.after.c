// `amount` was computed from `base` before the query changed it: it is not computed again, but kept in
// an array.
// objective: position
// splits: yes
// expect: moves
#include "shop.h"

void order(struct db *db, long region, long customer)
{
    long sum = 0, base = 1, amount;

    db_begin(db);
    long amount_at[15];
    for (int i = 0; i < 15; i++) {
        amount = base + i;
        base = db_number(db, "SELECT i_price FROM item WHERE i_id = $1", amount);
        sum += base;
        amount_at[i] = amount;
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = $2", sum, customer);
    for (int i = 0; i < 15; i++) {
        amount = amount_at[i];
        db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = $2", amount, region);
    }
    db_commit(db);
}
