// A query stores the text that the next statement changes: no earlier call is part of it.
// server: sqlite
// expect: moves
#include "shop.h"

struct name {
    char text[32];
    long length;
};

int pay(struct db *db, struct name *k)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_text(db, k->text, "SELECT c_name FROM customer WHERE c_id = 2"))
        goto fail;
    k->text[0] ^= 32;
    if (db_run(db, "UPDATE item SET i_stock = i_stock - 1 WHERE i_id = 3"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
