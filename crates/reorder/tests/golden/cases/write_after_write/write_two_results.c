// expect: moves
// isolation: serializable
#include "shop.h"

struct found {
    long region, customer;
};

void find(struct db *db, struct found *out)
{
    db_begin(db);
    out->region = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    out->customer = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    db_commit(db);
}
