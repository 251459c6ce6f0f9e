// The first call of rand() has the first number.
// expect: unchanged
// keeps: outside effect
#include <stdlib.h>

#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", rand());
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = 2", rand());
    db_commit(db);
}
