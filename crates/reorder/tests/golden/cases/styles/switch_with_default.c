// With `default`, the `switch` leaves none of the text that was in the buffer before it.
// expect: moves
#include <stdio.h>
#include "shop.h"

int pay(struct db *db, int kind, int who)
{
    char q[100];

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = $1", who))
        goto fail;
    sprintf(q, "UPDATE region SET r_count = r_total WHERE r_id = %d", who);
    switch (kind) {
    case 0:
        sprintf(q, "UPDATE item SET i_stock = 1 WHERE i_id = %d", who);
        break;
    case 1:
    default:
        sprintf(q, "UPDATE customer SET c_visits = 1 WHERE c_id = %d", who);
        break;
    }
    if (db_run(db, q))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
