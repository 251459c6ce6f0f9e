// MySQL does not roll back because a query has failed.
// server: mysql
// expect: unchanged
// keeps: barrier, `throw`
#include "shop.h"

void pay(db *db)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        throw 1;
    if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
        throw 2;
    db_commit(db);
}
