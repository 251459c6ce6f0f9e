// The second update runs only if the first one succeeds; both commit.
// server: mysql
// expect: unchanged
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1") == 0)
        db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    db_commit(db);
}
