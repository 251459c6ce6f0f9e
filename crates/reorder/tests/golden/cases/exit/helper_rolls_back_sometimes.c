// The exit rolls back for one of the codes only, and not for the one that it has.
// function: pay
// expect: unchanged
// keeps: barrier, it leaves without a rollback
#include "shop.h"

static int leave(struct db *db, int code)
{
    if (code == 7)
        db_rollback(db);
    return code;
}

int pay(struct db *db, int amount)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount))
        return leave(db, 7);
    if (amount > 100)
        return leave(db, amount);
    if (db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = 2", amount))
        return leave(db, 7);
    db_commit(db);
    return 0;
}
