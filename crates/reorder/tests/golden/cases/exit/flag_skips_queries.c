// `failed` skips what stands behind a failure; the end rolls back.
// expect: unchanged
#include "shop.h"

int pay(struct db *db)
{
    int failed = 0;

    db_begin(db);
    failed = db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (!failed)
        failed = db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    if (failed) {
        db_rollback(db);
        return -1;
    }
    db_commit(db);
    return 0;
}
