// A unique key refuses the second row.
// expect: moves
#include <stdlib.h>

#include "shop.h"

int sell(struct db *db)
{
    char text[32];

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_text(db, text, "SELECT i_stock FROM item WHERE i_id = 5 FOR UPDATE"))
        goto fail;
    if (atoi(text) < 1)
        goto fail;
    if (db_run(db, "INSERT INTO item VALUES (6, 1, 'new', 2, 3)"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
