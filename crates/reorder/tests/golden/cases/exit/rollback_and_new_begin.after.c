// What a rollback has undone is done anew in a new transaction, in which queries move.
// expect: moves
#include "shop.h"

static void again(struct db *db)
{
    db_rollback(db);
    db_begin(db);
}

int pay(struct db *db, int amount)
{
    db_begin(db);
    db_run(db, "UPDATE item SET i_stock = i_stock - 1 WHERE i_id = 3");
    again(db);
    if (db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = 2", amount))
        goto fail;
    if (db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return 1;
}
