// The indices may be equal.
// expect: unchanged
// keeps: read after write, it writes `ids`
#include "shop.h"

void visit(struct db *db, int i, int j)
{
    long ids[4] = {0};

    db_begin(db);
    ids[i] = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", ids[j]);
    db_commit(db);
}
