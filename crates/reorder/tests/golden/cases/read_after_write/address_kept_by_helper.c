// The helper keeps the address in a global variable.
// expect: unchanged
// keeps: read after write
#include "shop.h"

static long *kept;

static void keep(long *place)
{
    kept = place;
}

void visit(struct db *db)
{
    long region = 0;

    keep(&region);
    db_begin(db);
    *kept = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", region);
    db_commit(db);
}
