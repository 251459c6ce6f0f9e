// The exits stand in an inner block with a variable of its own.
// expect: moves
#include "shop.h"

int pay(struct db *db, int amount)
{
    db_begin(db);
    if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
        goto fail;
    {
        int half = amount / 2;
        if (db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", half))
            goto fail;
    }
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
