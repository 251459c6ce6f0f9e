// Both assignments of `n` may reach its use behind the transaction: the last one wins.
// expect: unchanged
// isolation: serializable
// keeps: write after write, both write `n`
#include "shop.h"

long find(struct db *db, int flag)
{
    long n;

    db_begin(db);
    n = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    if (flag)
        n = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    db_commit(db);
    return n;
}
