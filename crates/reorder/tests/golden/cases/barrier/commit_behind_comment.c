// The second update runs behind the commit.
// function: pay
// expect: unchanged
// keeps: barrier, it ends the transaction
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "/* done */ COMMIT");
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
}
