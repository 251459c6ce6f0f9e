// The fields of a union share their bytes.
// expect: unchanged
// keeps: read after write, it writes `row`
#include "shop.h"

union row {
    long region, customer;
};

long visit(struct db *db)
{
    union row row = {7};

    db_begin(db);
    row.region = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", row.customer);
    db_commit(db);
    return row.region;
}
