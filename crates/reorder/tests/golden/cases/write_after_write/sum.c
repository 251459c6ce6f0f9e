// Both add to one variable: the sum is the same, but the tool keeps the order.
// isolation: serializable
// expect: unchanged
#include "shop.h"

long find(struct db *db)
{
    long sum = 0;

    db_begin(db);
    sum += db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    sum += db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    db_commit(db);
    return sum;
}
