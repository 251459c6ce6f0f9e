// expect: moves
// isolation: serializable
#include "shop.h"

struct found {
    long region, customer;
};

void find(struct db *db, struct found *out)
{
    db_begin(db);
    out->customer = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    out->region = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    db_commit(db);
}
