// The customers of the shop are locked, and none comes to it.
// server: postgresql
// expect: moves
#include <stdlib.h>

#include "shop.h"

int sell(struct db *db)
{
    char text[32];

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_text(db, text, "SELECT c_balance FROM customer WHERE c_shop = 2 FOR UPDATE"))
        goto fail;
    if (db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 4", atoi(text)))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
