// The helper commits: the second update is outside of the transaction.
// function: pay
// expect: unchanged
// keeps: barrier
#include "shop.h"

static void finish(struct db *db)
{
    db_commit(db);
}

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    finish(db);
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
}
