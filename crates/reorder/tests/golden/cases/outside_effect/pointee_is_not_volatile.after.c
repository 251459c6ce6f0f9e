// The pointer leads to plain memory.
// expect: moves
#include "shop.h"

void pay(struct db *db, long *state)
{
    db_begin(db);
    *state = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", 2L);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", 1L);
    db_commit(db);
}
