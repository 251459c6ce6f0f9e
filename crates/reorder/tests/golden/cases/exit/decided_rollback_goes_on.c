// The text of a query decides whether it rolls back.
// expect: unchanged
// keeps: barrier, it runs `ROLLBACK`
#include "shop.h"

int pay(struct db *db, int undo)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1")) {
        db_rollback(db);
        return 1;
    }
    db_run(db, undo ? "ROLLBACK" : "UPDATE item SET i_stock = i_stock - 1 WHERE i_id = 3");
    if (db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2")) {
        db_rollback(db);
        return 2;
    }
    db_commit(db);
    return 0;
}
