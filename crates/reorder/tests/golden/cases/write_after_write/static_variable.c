// The value of a static variable is seen by the next call.
// expect: unchanged
// isolation: serializable
// keeps: write after write, both write `last`
#include "shop.h"

long find(struct db *db)
{
    static long last;
    long before = last;

    db_begin(db);
    last = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    last = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    db_commit(db);
    return before;
}
