// If there is no row, both transactions insert it, and the second one overwrites the first.
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
    if (db_text(db, text, "SELECT i_stock FROM item WHERE i_id = 5 FOR UPDATE"))
        goto fail;
    if (db_run(db, "INSERT INTO item VALUES (5, 2, 'a', 3, $1) ON CONFLICT (i_id) DO "
            "UPDATE SET i_stock = excluded.i_stock", atoi(text)))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
