// The update writes what its subquery read before the other query.
// isolation: read committed
// expect: unchanged
// keeps: read order, both read
#include "shop.h"

long pay(struct db *db)
{
    long balance;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = (SELECT sum(s_total) FROM shop) WHERE r_id = 1");
    balance = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    db_commit(db);
    return balance;
}
