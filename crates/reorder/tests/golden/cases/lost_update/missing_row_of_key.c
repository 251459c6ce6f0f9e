// Both transactions find no row and insert it; the second insert fails, and not in the source.
// expect: unchanged
// keeps: lost update, others from writing `item`
#include <stdlib.h>

#include "shop.h"

int sell(struct db *db, int shop)
{
    char text[32];

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_text(db, text, "SELECT i_stock FROM item WHERE i_id = $1 FOR UPDATE", shop))
        goto fail;
    if (atoi(text) == 0 && db_run(db, "INSERT INTO item VALUES ($1, 1, 'new', 2, 3)", shop))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
