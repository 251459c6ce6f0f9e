// The helper of the exits only rolls back to the savepoint: the exit leaves the transaction open.
// function: pay
// server: sqlite
// expect: unchanged
#include "shop.h"

static int undo(struct db *db, const char *how)
{
    db_run(db, how);
    return -1;
}

int pay(struct db *db)
{
    db_run(db, "BEGIN");
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        return undo(db, "ROLLBACK TO s");
    if (db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2"))
        return undo(db, "ROLLBACK TO s");
    db_run(db, "COMMIT");
    return 0;
}
