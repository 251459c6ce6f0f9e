// The helper runs a query for each element, and leaves only if one fails: the number of elements
// guards nothing.
// function: pay
// expect: moves
#include "shop.h"

static int grow(struct db *db, const int *ids, int count)
{
    for (int at = 0; at < count; at++) {
        if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = $1", ids[at]))
            return -1;
    }
    return 0;
}

int pay(struct db *db, const int *ids, int count)
{
    db_begin(db);
    if (db_run(db, "UPDATE customer SET c_balance = $1 WHERE c_id = 2", count))
        goto fail;
    if (grow(db, ids, count))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
