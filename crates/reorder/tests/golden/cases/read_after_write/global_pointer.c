// The global pointer may lead to the global variable.
// expect: unchanged
#include "shop.h"

long region;
long *place = &region;

void visit(struct db *db)
{
    db_begin(db);
    *place = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", region);
    db_commit(db);
}
