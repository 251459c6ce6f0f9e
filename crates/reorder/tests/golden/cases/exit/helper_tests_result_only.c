// The helper leaves because of what its queries return: that guards no use of its parameters.
// function: pay
// expect: moves
#include "shop.h"

static int grow(struct db *db, int id, int amount)
{
    int rows = db_rows(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = $2", amount, id);

    if (rows < 0)
        return -1;
    if (rows == 0)
        return -2;
    return 0;
}

int pay(struct db *db, int id, int amount)
{
    db_begin(db);
    if (grow(db, id, amount))
        goto fail;
    if (db_run(db, "UPDATE customer SET c_balance = $1 WHERE c_id = $2", amount, id))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
