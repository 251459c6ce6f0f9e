// The fields share no byte.
// expect: moves
// isolation: serializable
#include "shop.h"

struct row {
    long region, customer;
};

long visit(struct db *db)
{
    struct row row = {0, 7};

    db_begin(db);
    row.region = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", row.customer);
    db_commit(db);
    return row.region;
}
