// A part of the expression locks the row.
// expect: unchanged
// keeps: lost update, others from writing `item`
#include <stdlib.h>

#include "shop.h"

int sell(struct db *db, int locks)
{
    char text[32];
    int failed;

    db_begin(db);
    failed = locks ? db_text(db, text, "SELECT i_stock FROM item WHERE i_id = 5 FOR UPDATE") : 0;
    if (failed)
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
