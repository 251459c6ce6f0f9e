// Each way out of the `switch` but the last rolls back.
// expect: not yet, the rollback within a switch is not seen
#include "shop.h"

int pay(struct db *db, int kind)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    switch (kind) {
    case 1:
        db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
        break;
    case 2:
        db_run(db, "UPDATE item SET i_stock = 1 WHERE i_id = 5");
        break;
    default:
        db_rollback(db);
        return -1;
    }
    db_commit(db);
    return 0;
}
