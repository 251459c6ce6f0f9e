// isolation: serializable
// expect: moves
#include "shop.h"

long find(struct db *db)
{
    long total, balance;

    db_begin(db);
    balance = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    total = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    db_commit(db);
    return total + balance;
}
