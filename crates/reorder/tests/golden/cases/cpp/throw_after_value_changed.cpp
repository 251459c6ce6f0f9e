// The exception carries the value that was read first.
// expect: unchanged
// keeps: write after read
#include "shop.h"

int pay(db *db)
{
    long rest;

    db_begin(db);
    rest = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    if (rest < 0) {
        db_rollback(db);
        throw rest;
    }
    rest = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    db_run(db, "UPDATE item SET i_stock = $1 WHERE i_id = 1", rest);
    db_commit(db);
    return 0;
}
