// `COMMIT AND CHAIN` begins a transaction anew: a failure behind it undoes only what stands there.
// Within the new transaction queries move.
// expect: moves
// keeps: barrier, it runs `COMMIT AND CHAIN`
#include "shop.h"

int pay(struct db *db)
{
    db_begin(db);
    if (db_run(db, "UPDATE item SET i_stock = i_stock - 1 WHERE i_id = 3"))
        goto fail;
    if (db_run(db, "COMMIT AND CHAIN"))
        goto fail;
    if (db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2"))
        goto fail;
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return 1;
}
