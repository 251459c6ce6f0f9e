// The indices may be equal.
// isolation: serializable
// expect: unchanged
// keeps: write after write
#include "shop.h"

void find(struct db *db, long *out, int i, int j)
{
    db_begin(db);
    out[i] = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    out[j] = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    db_commit(db);
}
