// The declaration is the query's own statement and moves with it.
// expect: moves
#include "shop.h"

long pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    long balance = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    db_commit(db);
    return balance;
}
