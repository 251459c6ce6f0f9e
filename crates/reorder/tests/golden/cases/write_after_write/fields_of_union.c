// The second query overwrites what the first one wrote.
// isolation: serializable
// expect: unchanged
// keeps: write after write
#include "shop.h"

union found {
    long region, customer;
};

void find(struct db *db, union found *out)
{
    db_begin(db);
    out->region = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    out->customer = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    db_commit(db);
}
