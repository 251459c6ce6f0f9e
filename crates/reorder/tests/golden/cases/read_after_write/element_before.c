// `p - 1` is the element that the query writes.
// expect: unchanged
#include "shop.h"

void visit(struct db *db)
{
    long ids[2] = {0, 0}, *p = &ids[1];

    db_begin(db);
    ids[0] = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", *(p - 1));
    db_commit(db);
}
