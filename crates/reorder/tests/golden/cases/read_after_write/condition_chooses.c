// The address depends on the flag.
// expect: unchanged
// keeps: read after write
#include "shop.h"

void visit(struct db *db, int flag)
{
    long region = 0, item = 0;

    db_begin(db);
    *(flag ? &region : &item) =
        db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", item);
    db_commit(db);
}
