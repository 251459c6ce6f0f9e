// The pointer leads to memory that is shared with something outside of the program.
// expect: unchanged
#include "shop.h"

void pay(struct db *db, volatile long *state)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", 1L);
    *state = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", 2L);
    db_commit(db);
}
