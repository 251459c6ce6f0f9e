// The handler goes on with the transaction.
// expect: unchanged
#include "shop.h"

void may_throw(db *db);

int pay(db *db)
{
    int failed = 0;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    try {
        db_run(db, "UPDATE shop SET s_total = 1 WHERE s_id = 1");
        may_throw(db);
    } catch (...) {
        failed = 1;
    }
    db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    db_commit(db);
    return failed;
}
