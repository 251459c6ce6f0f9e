// The transaction does not see the new total: nothing shows whether the read was before it.
// isolation: read committed
// expect: moves
#include "shop.h"

long pay(struct db *db)
{
    long balance;

    db_begin(db);
    balance = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_commit(db);
    return balance;
}
