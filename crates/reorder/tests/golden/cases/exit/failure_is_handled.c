// The failure of the first update is no exit: the second update then does something else.
// server: mysql
// expect: unchanged
// keeps: read after write, it writes `failed`
#include "shop.h"

void pay(struct db *db)
{
    int failed;

    db_begin(db);
    failed = db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", failed ? 0 : 1);
    db_commit(db);
}
