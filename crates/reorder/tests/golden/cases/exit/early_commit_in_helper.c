// A helper of the helper commits if the amount is large, and control goes on.
// function: pay
// expect: unchanged
// keeps: barrier, it ends the transaction
#include "shop.h"

static void finish(struct db *db)
{
    db_run(db, "COMMIT");
}

static void finish_early(struct db *db, int amount)
{
    if (amount > 1000)
        finish(db);
}

int pay(struct db *db, int amount)
{
    db_begin(db);
    finish_early(db, amount);
    if (db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount)) {
        db_rollback(db);
        return 1;
    }
    if (db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = 2", amount)) {
        db_rollback(db);
        return 2;
    }
    db_run(db, "COMMIT");
    return 0;
}
