// Two transactions that both hold the row shared would each wait for the other to update it.
// server: postgresql
// expect: unchanged
// keeps: lost update, others from holding rows of `item` shared
#include <stdlib.h>

#include "shop.h"

int sell(struct db *db)
{
    char text[32];

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_text(db, text, "SELECT i_stock FROM item WHERE i_id = 5 FOR SHARE"))
        goto fail;
    if (db_run(db, "UPDATE item SET i_stock = $1 WHERE i_id = 5", atoi(text) - 1))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
