// The function that it calls locks the row.
// function: sell
// expect: moves
#include <stdlib.h>

#include "shop.h"

static int lock(struct db *db)
{
    char text[32];

    return db_text(db, text, "SELECT i_stock FROM item WHERE i_id = 5 FOR UPDATE");
}

int sell(struct db *db)
{
    char text[32];

    db_begin(db);
    if (lock(db))
        goto fail;
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_text(db, text, "SELECT i_price FROM item WHERE i_id = 5"))
        goto fail;
    if (db_run(db, "UPDATE item SET i_price = $1 WHERE i_id = 5", atoi(text) + 1))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
