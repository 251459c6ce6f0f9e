// The length in the type of the cast is evaluated.
// expect: unchanged
// keeps: barrier, a conversion to an array of variable length
#include "shop.h"

void pay(struct db *db, int visits)
{
    long all[4] = {0};

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", visits);
    (void)(long (*)[visits++])all;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", visits);
    db_commit(db);
}
