// Where the region's update fails, nothing is printed.
// expect: unchanged
// keeps: outside effect
#include <stdio.h>

#include "shop.h"

int pay(struct db *db, int amount)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount))
        goto fail;
    printf("region\n");
    if (db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = 2", amount))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
