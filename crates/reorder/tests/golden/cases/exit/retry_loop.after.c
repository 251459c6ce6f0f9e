// The loop repeats the transaction until it commits.
// expect: moves
#include "shop.h"

int pay(struct db *db)
{
    for (int tries = 0; tries < 3; tries++) {
        db_begin(db);
        if (db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2")) {
            db_rollback(db);
            continue;
        }
        if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1")) {
            db_rollback(db);
            continue;
        }
        db_commit(db);
        return 0;
    }
    return -1;
}
