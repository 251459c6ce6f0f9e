// The value that the exception carries is that of the source.
// expect: unchanged
#include "shop.h"

int pay(db *db, int amount)
{
    int rest;

    db_begin(db);
    rest = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    rest -= amount;
    if (rest < 0) {
        db_rollback(db);
        throw rest;
    }
    rest = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", rest);
    db_commit(db);
    return rest;
}
