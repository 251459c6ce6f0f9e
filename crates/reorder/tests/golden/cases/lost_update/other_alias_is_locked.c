// Of the two places of the table, one is locked.
// server: postgresql
// expect: unchanged
// keeps: lost update, others from writing `item`
#include <stdlib.h>

#include "shop.h"

int sell(struct db *db)
{
    char text[32];

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_text(db, text, "SELECT a.i_stock FROM item a, item b WHERE a.i_id = 5 AND "
            "b.i_id = 6 FOR UPDATE OF b"))
        goto fail;
    if (db_run(db, "UPDATE item SET i_stock = $1 WHERE i_id = 5", atoi(text) - 1))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
