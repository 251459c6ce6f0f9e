// The rollback always undoes the update of the region, and what follows commits by itself.
// expect: unchanged
// keeps: barrier, it rolls back, and the transaction goes on
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_rollback(db);
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
