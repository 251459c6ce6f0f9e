// `exit` ends the process: the server rolls back, but functions of atexit() run.
// expect: unchanged
// keeps: barrier
#include <stdlib.h>

#include "shop.h"

void pay(struct db *db, int amount)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount);
    if (amount < 0)
        exit(1);
    db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    db_commit(db);
}
