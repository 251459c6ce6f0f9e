// The `break` behind the helper's rollback leads out of the loop, to a commit and a new query.
// function: pay
// server: sqlite
// expect: unchanged
#include "shop.h"

static int step(struct db *db, const char *sql)
{
    if (db_run(db, sql)) {
        db_rollback(db);
        return -1;
    }
    return 0;
}

int pay(struct db *db)
{
    db_begin(db);
    do {
        if (step(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
            break;
        if (step(db, "UPDATE item SET i_stock = i_stock - 1 WHERE i_id = 3"))
            break;
    } while (0);
    if (db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2")) {
        db_rollback(db);
        return -1;
    }
    db_commit(db);
    return 0;
}
