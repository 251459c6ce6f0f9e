// The condition is that of the key alone, however it is written: the row is locked before.
// The query that locks it stays before the read; the update of the region need not.
// server: postgresql
// expect: moves
// keeps: lost update, others from writing `item`
#include <stdlib.h>

#include "shop.h"

int sell(struct db *db)
{
    char text[32];

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_run(db, "SELECT 1 FROM item WHERE ((5 = i_id)) FOR UPDATE"))
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
