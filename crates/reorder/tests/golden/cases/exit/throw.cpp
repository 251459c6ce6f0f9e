// Whether the exception rolls back is not seen.
// expect: unchanged
// keeps: barrier, whether `throw` rolls back is not known
#include "shop.h"

void pay(db *db, int amount)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount);
    if (amount < 0)
        throw amount;
    db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    db_commit(db);
}
