// The update locks no row if the item is sold out: it does not replace the lock of the region.
// Nothing moves behind the read. The two updates stay as well: if the item is sold out, the second
// one locks nothing, and the transaction goes on.
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
    if (db_run(db, "UPDATE item SET i_stock = i_stock - 1 WHERE i_id = 5 AND i_stock > 0"))
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
