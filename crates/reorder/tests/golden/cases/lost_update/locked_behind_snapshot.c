// The first plain read takes the snapshot, before the row is locked: the later one sees the row as
// it was then.
// server: mysql
// expect: unchanged
// keeps: lost update, others from writing `item`
#include <stdlib.h>

#include "shop.h"

int sell(struct db *db)
{
    char name[32], text[32];

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_text(db, name, "SELECT c_name FROM customer WHERE c_id = 2"))
        goto fail;
    if (db_text(db, text, "SELECT i_stock FROM item WHERE i_id = 5 FOR UPDATE"))
        goto fail;
    if (db_text(db, text, "SELECT i_price FROM item WHERE i_id = 5"))
        goto fail;
    if (db_run(db, "UPDATE item SET i_price = ? WHERE i_id = 5", atoi(text) + 1))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
