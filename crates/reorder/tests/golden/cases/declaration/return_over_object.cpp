// If the customer's update came first, its exit would leave the object without its destructor.
// server: mysql
// isolation: serializable
// expect: unchanged
// keeps: declaration, the destructor of `Watch` may do anything, and must run for `watch` where the
#include "shop_cpp.h"

bool pay(db *db, int customer)
{
    db_begin(db);
    long total = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    Watch watch(total);
    if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = ?", customer)) {
        db_rollback(db);
        return false;
    }
    db_commit(db);
    return total > 0;
}
