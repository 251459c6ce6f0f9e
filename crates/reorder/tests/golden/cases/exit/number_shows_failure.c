// If the region's update fails, the server refuses to read the balance, and the program may take that
// for too little money and leave: with the region last it would report a success.
// expect: unchanged
// keeps: exit, later code sees that a query without a check has failed
#include "shop.h"

int pay(struct db *db, int amount)
{
    long balance;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount);
    balance = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    if (balance < amount) {
        db_rollback(db);
        return -1;
    }
    db_run(db, "UPDATE item SET i_stock = i_stock - 1 WHERE i_id = 5");
    db_commit(db);
    return 0;
}
