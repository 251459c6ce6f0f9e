// Each branch of the `switch` puts its own text into the buffer that the query before it has used,
// and runs that text only.
// expect: moves
#include <stdio.h>
#include "shop.h"

int pay(struct db *db, int kind, int who)
{
    char q[100];

    db_begin(db);
    sprintf(q, "INSERT INTO log VALUES ('%d')", who);
    if (db_run(db, q))
        goto fail;
    switch (kind) {
    case 0:
        sprintf(q, "UPDATE customer SET c_visits = 1 WHERE c_id = %d", who);
        if (db_run(db, q))
            goto fail;
        break;
    case 1:
    case 2:
        sprintf(q, "UPDATE item SET i_stock = 1 WHERE i_id = %d", who);
        if (db_run(db, q))
            goto fail;
        break;
    default:
        goto fail;
    }
    sprintf(q, "UPDATE region SET r_total = r_total + 1 WHERE r_id = %d", who);
    if (db_run(db, q))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
