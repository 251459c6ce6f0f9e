// One token reads `amount` and writes it: its value is copied, as in the paper's Listing 7. The
// customer keeps the order of its updates, and the region the older amount.
// isolation: serializable
// renames: yes
// expect: moves
#include "shop.h"

void pay(struct db *db, int amount)
{
    int amount_r1;
    db_begin(db);
    amount_r1 = amount;
    amount_r1 -= 5;
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = 2", amount_r1);
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount);
    db_commit(db);
}
