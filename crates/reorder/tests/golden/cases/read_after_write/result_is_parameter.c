// expect: unchanged
// keeps: read after write, it writes `region`
#include "shop.h"

void visit(struct db *db)
{
    long region;

    db_begin(db);
    region = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", region);
    db_commit(db);
}
