// A run that rolls back leaves gaps in the numbers, here or there.
// expect: moves
#include "shop.h"

int pay(struct db *db, int amount)
{
    db_begin(db);
    if (amount < 0) {
        db_rollback(db);
        return -1;
    }
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_run(db, "UPDATE region SET r_count = nextval('numbers') WHERE r_id = 1");
    db_commit(db);
    return 0;
}
