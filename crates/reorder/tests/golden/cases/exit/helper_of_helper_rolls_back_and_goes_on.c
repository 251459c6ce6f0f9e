// A helper of the helper rolls back, and the result of the helper is not looked at.
// function: pay
// server: sqlite
// expect: unchanged
// keeps: barrier, it rolls back, and the transaction goes on
#include "shop.h"

static int undo(struct db *db)
{
    db_rollback(db);
    return -1;
}

static int visit(struct db *db)
{
    if (db_run(db, "UPDATE item SET i_stock = i_stock - 1 WHERE i_id = 3"))
        return undo(db);
    return 0;
}

int pay(struct db *db)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        return undo(db);
    visit(db);
    if (db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2"))
        return undo(db);
    db_commit(db);
    return 0;
}
