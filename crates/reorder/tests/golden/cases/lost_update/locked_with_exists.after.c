// The condition of the query that locks needs a sale.
// server: postgresql
// expect: moves
// keeps: lost update, others from writing `item`
#include <stdlib.h>

#include "shop.h"

int sell(struct db *db)
{
    char text[32];

    db_begin(db);
    if (db_run(db, "SELECT 1 FROM item WHERE i_id = 5 AND EXISTS (SELECT 1 FROM sale "
            "WHERE x_item = 5) FOR UPDATE"))
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
