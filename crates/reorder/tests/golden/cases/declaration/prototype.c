// The prototype stands behind the region's update, and before the call.
// expect: unchanged
#include "shop.h"

void visit(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    long steps(void);
    db_run(db, "UPDATE customer SET c_visits = c_visits + $1 WHERE c_id = 2", steps());
    db_commit(db);
}
