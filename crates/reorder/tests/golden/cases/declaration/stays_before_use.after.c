// The address of `name` is used before it has a value: the declaration stays before it.
// server: sqlite
// expect: moves
// keeps: declaration, `name` is declared
#include "shop.h"

int visit(struct db *db)
{
    db_begin(db);
    char name[32];
    if (db_text(db, name, "SELECT c_name FROM customer WHERE c_id = 2"))
        goto fail;
    db_run(db, "UPDATE item SET i_name = ? WHERE i_id = 5", name);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
