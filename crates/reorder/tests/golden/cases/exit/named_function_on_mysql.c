// The caller ends the transaction, and may commit the region's update although the second failed.
// function: pay
// server: mysql
// expect: unchanged
// keeps: barrier, it leaves without a rollback
#include "shop.h"

int pay(struct db *db)
{
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        return -1;
    if (db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2"))
        return -1;
    return 0;
}
