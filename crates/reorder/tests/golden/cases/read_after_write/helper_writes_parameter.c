// expect: unchanged
// keeps: read after write, it writes `region`
#include "shop.h"

static void find_region(struct db *db, long *region)
{
    *region = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
}

void visit(struct db *db)
{
    long region;

    db_begin(db);
    find_region(db, &region);
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", region);
    db_commit(db);
}
