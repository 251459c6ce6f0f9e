// Each call writes the text before it reads it, and no call reads the number: nothing is kept.
// expect: moves
// relaxed reads: yes
#include "shop.h"

static int last_item;

int pay(struct db *db, int item)
{
    static char name[32];

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    last_item = item;
    if (db_text(db, name, "SELECT i_name FROM item WHERE i_id = $1", item))
        goto fail;
    if (db_run(db, "UPDATE customer SET c_name = $1 WHERE c_id = 1", name))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
