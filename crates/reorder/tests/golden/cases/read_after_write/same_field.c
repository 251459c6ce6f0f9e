// expect: unchanged
// keeps: read after write, it writes `row`
#include "shop.h"

struct row {
    long region, customer;
};

void visit(struct db *db)
{
    struct row row;

    db_begin(db);
    row.region = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", row.region);
    db_commit(db);
}
