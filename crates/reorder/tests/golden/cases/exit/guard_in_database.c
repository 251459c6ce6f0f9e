// A customer with too little money may not be deleted; nothing in C depends on the balance. Both
// exits roll back, so a query that ran before the exit leaves no trace.
// server: sqlite
// expect: moves
#include "shop.h"

int leave(struct db *db)
{
    db_begin(db);
    if (db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE") < 10)
        goto fail;
    if (db_run(db, "DELETE FROM sale WHERE x_customer = 2"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
