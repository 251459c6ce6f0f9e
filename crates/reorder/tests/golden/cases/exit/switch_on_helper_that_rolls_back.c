// The number of the helper that rolls back chooses a case.
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
    switch (step(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1")) {
    case 0:
        break;
    case 1:
        return -1;
    }
    if (step(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2"))
        return -1;
    db_commit(db);
    return 0;
}
