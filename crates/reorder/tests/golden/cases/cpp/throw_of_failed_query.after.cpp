// The failed query has made PostgreSQL roll back.
// expect: moves
#include "shop.h"

void pay(db *db, int amount)
{
    db_begin(db);
    if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
        throw 2;
    if (db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount)) {
        db_rollback(db);
        throw 1;
    }
    db_commit(db);
}
