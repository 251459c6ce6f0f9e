// The helper reads the global variable that the first query writes.
// function: visit
// expect: unchanged
// keeps: read after write, it writes `region`
#include "shop.h"

static long region;

static void update_customer(struct db *db)
{
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", region);
}

void visit(struct db *db)
{
    db_begin(db);
    region = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    update_customer(db);
    db_commit(db);
}
