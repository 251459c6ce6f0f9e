// The calls of time() keep their order; the queries need not.
// expect: moves
// keeps: outside effect
#include <time.h>

#include "shop.h"

void pay(struct db *db)
{
    long first, second;

    db_begin(db);
    first = (long)time(NULL);
    second = (long)time(NULL);
    db_run(db, "UPDATE customer SET c_balance = $1 WHERE c_id = 2", second);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", first);
    db_commit(db);
}
