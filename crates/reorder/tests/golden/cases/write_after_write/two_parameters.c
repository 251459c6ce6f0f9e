// The caller may pass one variable twice: the last query wins.
// isolation: serializable
// expect: unchanged
// keeps: write after write
#include "shop.h"

void find(struct db *db, long *total, long *balance)
{
    db_begin(db);
    *total = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    *balance = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    db_commit(db);
}
