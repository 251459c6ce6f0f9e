// The helper leaves for a state outside of it, which the later query uses.
// function: pay
// expect: unchanged
// keeps: exit, it leaves the transaction depending on `parts`
#include "shop.h"

int parts;

static int grow(struct db *db)
{
    if (parts == 0)
        return -1;
    return db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
}

int pay(struct db *db)
{
    db_begin(db);
    if (grow(db))
        goto fail;
    if (db_run(db, "UPDATE customer SET c_balance = $1 WHERE c_id = 2", 100 / parts))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
