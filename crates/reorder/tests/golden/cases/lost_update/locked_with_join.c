// The join finds the item only if its shop has a name, and so locks it only then.
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
    if (db_run(db, "SELECT 1 FROM item JOIN shop ON s_id = i_shop WHERE i_id = 5 AND "
            "s_name = 'a' FOR UPDATE OF item"))
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
