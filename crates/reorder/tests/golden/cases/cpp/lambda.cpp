// The lambda writes `n` through its capture.
// expect: unchanged
// keeps: barrier
#include "shop.h"

void pay(db *db)
{
    long n = 0;
    auto next = [&n] { return ++n; };

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", next());
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", next());
    db_commit(db);
}
