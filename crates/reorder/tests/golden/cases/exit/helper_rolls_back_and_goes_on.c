// The helper rolls back if it finds a value, and returns as if nothing had happened: what follows
// commits by itself, and what came before is undone.
// function: pay
// server: sqlite
// expect: unchanged
// keeps: barrier, it rolls back, and the transaction goes on
#include "shop.h"

static void check(struct db *db)
{
    if (db_number(db, "SELECT i_stock FROM item WHERE i_id = 3") > 5)
        db_rollback(db);
}

int pay(struct db *db)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1")) {
        db_rollback(db);
        return 1;
    }
    check(db);
    if (db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2")) {
        db_rollback(db);
        return 2;
    }
    db_commit(db);
    return 0;
}
