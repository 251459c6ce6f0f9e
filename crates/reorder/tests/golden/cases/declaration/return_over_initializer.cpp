// A `return` enters no scope: it may come before a declaration that it stood behind.
// server: sqlite
// expect: moves
#include "shop.h"

bool pay(db *db, int customer)
{
    db_begin(db);
    long total = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = ?", customer)) {
        db_rollback(db);
        return false;
    }
    db_run(db, "UPDATE region SET r_total = ? WHERE r_id = 1", total + 1);
    db_commit(db);
    return true;
}
