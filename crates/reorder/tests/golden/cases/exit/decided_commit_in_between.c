// The middle call may commit. Then each query behind it commits by itself: if the update of the
// item fails, the source has counted in the region.
// expect: unchanged
// keeps: barrier, it ends the transaction
#include "shop.h"

int order(struct db *db, int ok)
{
    if (db_run(db, "BEGIN"))
        return -1;
    if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 1")) {
        db_run(db, "ROLLBACK");
        return -2;
    }
    db_run(db, ok ? "COMMIT" : "SAVEPOINT s");
    if (db_run(db, "UPDATE region SET r_count = r_count + 1 WHERE r_id = 1")) {
        db_run(db, "ROLLBACK");
        return -3;
    }
    if (db_run(db, "UPDATE item SET i_stock = i_stock - 1 WHERE i_id = 1")) {
        db_run(db, "ROLLBACK");
        return -4;
    }
    db_run(db, "COMMIT");
    return 0;
}
