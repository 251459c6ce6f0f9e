// A commit within the loop that runs once ends the transaction there.
// expect: unchanged
// keeps: barrier, it ends the transaction
#include "shop.h"

int pay(struct db *db, int amount)
{
    int rc = -1;

    db_begin(db);
    do {
        switch (amount) {
        case 0:
            db_run(db, amount ? "SELECT 1" : "COMMIT");
            break;
        }
        if (db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount))
            break;
        if (db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = 2", amount))
            break;
        rc = 0;
    } while (0);
    if (rc != 0) {
        db_rollback(db);
        return rc;
    }
    db_commit(db);
    return 0;
}
