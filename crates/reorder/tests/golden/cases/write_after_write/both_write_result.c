// The caller sees the value of the second query.
// expect: unchanged
// isolation: serializable
// keeps: write after write, both write what `out` leads to
#include "shop.h"

void find(struct db *db, long *out)
{
    db_begin(db);
    *out = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    *out = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    db_commit(db);
}
