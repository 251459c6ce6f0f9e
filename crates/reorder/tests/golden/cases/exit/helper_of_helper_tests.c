// A helper of the helper leaves for a null pointer: what the pointer leads to is read behind the
// call.
// function: pay
// expect: unchanged
// keeps: exit, it leaves the transaction depending on `amount`
#include <stddef.h>

#include "shop.h"

static int checked(struct db *db, const int *amount)
{
    if (amount == NULL)
        return -1;
    return db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
}

static int grow(struct db *db, const int *amount)
{
    return checked(db, amount);
}

int pay(struct db *db, const int *amount)
{
    db_begin(db);
    if (grow(db, amount))
        goto fail;
    if (db_run(db, "UPDATE customer SET c_balance = $1 WHERE c_id = 2", *amount))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
