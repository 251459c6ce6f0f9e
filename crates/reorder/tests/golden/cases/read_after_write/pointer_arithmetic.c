// `from + 1` is `to`.
// expect: unchanged
// keeps: read after write
#include "shop.h"

void visit(struct db *db)
{
    long values[2] = {0, 0}, *from = values, *to = values + 1;

    db_begin(db);
    *to = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", from[1]);
    db_commit(db);
}
