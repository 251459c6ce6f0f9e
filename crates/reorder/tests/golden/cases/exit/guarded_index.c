// The index is tested before the array is read.
// isolation: serializable
// expect: unchanged
// keeps: exit, it leaves the transaction depending on `i`
#include "shop.h"

int share(struct db *db, const long *amounts, int count, int i)
{
    db_begin(db);
    if (db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE") < 0 || i >= count)
        goto fail;
    db_run(db, "UPDATE customer SET c_balance = c_balance + $1 WHERE c_id = 2", amounts[i]);
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
