// SQLite's transactions are serializable.
// server: sqlite
// expect: moves
#include "shop.h"

long pay(struct db *db)
{
    long total, balance;

    db_begin(db);
    balance = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    total = db_number(db, "UPDATE region SET r_total = 1 WHERE r_id = 1 RETURNING r_count");
    db_commit(db);
    return total + balance;
}
