// A failed transaction is repeated.
// expect: moves
#include "shop.h"

void pay(struct db *db)
{
again:
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto failed;
    if (db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2"))
        goto failed;
    db_commit(db);
    return;
failed:
    db_rollback(db);
    goto again;
}
