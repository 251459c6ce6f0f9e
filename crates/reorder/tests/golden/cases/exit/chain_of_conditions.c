// Each query runs only if those before it succeeded, without an exit; the last one commits.
// expect: unchanged
#include "shop.h"

int pay(struct db *db)
{
    int ok = 0;

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1") == 0)
        if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2") == 0)
            ok = 1;
    db_commit(db);
    return ok;
}
