// The pointer in the structure leads to another object when it is read the second time.
// expect: unchanged
// keeps: read after write
#include "shop.h"

struct store {
    long *total;
    long *other;
};

void visit(struct db *db, struct store *store)
{
    long own = 0;

    db_begin(db);
    store->total = &own;
    *store->total = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", own);
    db_commit(db);
}
