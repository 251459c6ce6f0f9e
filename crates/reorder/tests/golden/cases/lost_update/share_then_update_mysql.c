// As `share_then_update`, on MySQL.
// server: mysql
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
    if (db_text(db, text, "SELECT i_stock FROM item WHERE i_id = 5 LOCK IN SHARE MODE"))
        goto fail;
    if (db_run(db, "UPDATE item SET i_stock = ? WHERE i_id = 5", atoi(text) - 1))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
