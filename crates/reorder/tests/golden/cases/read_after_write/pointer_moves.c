// The pointer runs through the array.
// expect: unchanged
#include "shop.h"

void visit(struct db *db)
{
    long ids[2] = {0, 0}, *p = ids;

    db_begin(db);
    *p++ = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    *p = db_number(db, "SELECT i_price FROM item WHERE i_id = 1");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", ids[0] + ids[1]);
    db_commit(db);
}
