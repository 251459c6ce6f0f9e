// The user allows it.
// isolation: read committed
// relaxed reads: yes
// expect: moves
#include "shop.h"

long find(struct db *db)
{
    long total, balance;

    db_begin(db);
    total = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    balance = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    db_commit(db);
    return total + balance;
}
