// `FOR NO KEY UPDATE` keeps others from updating the row, and waits for those that do.
// server: postgresql
// expect: moves
#include <stdlib.h>

#include "shop.h"

int sell(struct db *db)
{
    char text[32];

    db_begin(db);
    if (db_text(db, text, "SELECT i_stock FROM item WHERE i_id = 5 FOR NO KEY UPDATE"))
        goto fail;
    if (db_run(db, "UPDATE item SET i_stock = $1 WHERE i_id = 5", atoi(text) - 1))
        goto fail;
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
