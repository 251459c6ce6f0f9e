// A failure is followed by `ROLLBACK AND CHAIN`, and the transaction that it begins goes on.
// expect: unchanged
// keeps: barrier, it runs `ROLLBACK AND CHAIN`
#include "shop.h"

int pay(struct db *db)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        db_run(db, "ROLLBACK AND CHAIN");
    if (db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2"))
        db_run(db, "ROLLBACK AND CHAIN");
    db_commit(db);
    return 0;
}
