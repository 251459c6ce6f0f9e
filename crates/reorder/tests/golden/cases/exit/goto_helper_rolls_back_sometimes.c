// The same behind a label.
// function: pay
// server: sqlite
// expect: unchanged
// keeps: barrier, it leaves without a rollback
#include "shop.h"

static void leave(struct db *db, int code)
{
    if (code == 7)
        db_rollback(db);
}

int pay(struct db *db, int amount)
{
    {
        db_begin(db);
        if (db_run(db, "UPDATE region SET r_total = r_total + ? WHERE r_id = 1", amount))
            goto fail;
        if (amount > 100)
            goto fail;
        if (db_run(db, "UPDATE customer SET c_balance = c_balance - ? WHERE c_id = 2", amount))
            goto fail;
        db_commit(db);
    }
    return 0;
fail:
    leave(db, amount);
    return 1;
}
