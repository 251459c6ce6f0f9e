// The helper returns the address that it was given.
// expect: unchanged
// keeps: read after write
#include "shop.h"

static long *same(long *place)
{
    return place;
}

void visit(struct db *db)
{
    long region = 0;

    db_begin(db);
    *same(&region) = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", region);
    db_commit(db);
}
