// The address of a local array is stored in memory of the caller, and a function reads through it.
// expect: unchanged
// keeps: read after write
#include "shop.h"

struct totals {
    long *first;
};

static long first(const struct totals *totals)
{
    return *totals->first;
}

void visit(struct db *db, struct totals *totals)
{
    long found[1] = { 0 };

    totals->first = found;
    db_begin(db);
    found[0] = db_number(db, "SELECT r_count FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", first(totals));
    db_commit(db);
}
