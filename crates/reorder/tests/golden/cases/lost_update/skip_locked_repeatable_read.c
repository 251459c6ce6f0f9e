// The transaction that holds the row may roll back: behind it the row is found, before it is left out.
// isolation: repeatable read
// server: postgresql
// expect: unchanged
// keeps: lost update, does not wait
#include <stdlib.h>

#include "shop.h"

int sell(struct db *db)
{
    char text[32];

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_text(db, text, "SELECT i_id FROM item WHERE i_stock > 0 FOR UPDATE SKIP LOCKED"))
        goto fail;
    if (db_run(db, "UPDATE item SET i_price = i_price + 10 WHERE i_id = $1", atoi(text)))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
