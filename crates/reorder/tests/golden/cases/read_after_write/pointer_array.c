// The array holds the address of `region`.
// expect: unchanged
// keeps: read after write
#include "shop.h"

void visit(struct db *db)
{
    long region = 0, item = 0;
    long *places[2] = {&region, &item};

    db_begin(db);
    *places[0] = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", region);
    db_commit(db);
}
