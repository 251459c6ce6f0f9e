// The second branch of the `switch` may run the text that the first one has left.
// expect: unchanged
// keeps: same table, region
#include <stdio.h>
#include "shop.h"

int pay(struct db *db, int kind, int who)
{
    char q[100];

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = $1", who))
        goto fail;
    sprintf(q, "UPDATE item SET i_stock = 1 WHERE i_id = %d", who);
    switch (kind) {
    case 0:
        sprintf(q, "UPDATE region SET r_count = r_total WHERE r_id = %d", who);
        /* fall through */
    case 1:
        if (db_run(db, q))
            goto fail;
        break;
    }
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
