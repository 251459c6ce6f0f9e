// The read chooses its row by the alias of a column that the transaction assigns.
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
    if (db_text(db, text, "SELECT i_id, i_price AS p FROM item ORDER BY p LIMIT 1 FOR UPDATE"))
        goto fail;
    if (db_run(db, "UPDATE item SET i_price = i_price + 10 WHERE i_id = $1", atoi(text)))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
