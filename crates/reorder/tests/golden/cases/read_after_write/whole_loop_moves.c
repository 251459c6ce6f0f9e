// The loop is one unit: it moves before the region's update.
// expect: moves
#include "shop.h"

void visit(struct db *db, int count)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_count = r_count + $1 WHERE r_id = 1", count);
    for (int i = 0; i < count; i++)
        db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = $1", i);
    db_commit(db);
}
