// expect: unchanged
// keeps: read after write
#include "shop.h"

struct row {
    long region, customer;
};

void visit(struct db *db)
{
    struct row row = {0, 0}, copy;

    db_begin(db);
    row.region = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    copy = row;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", copy.region);
    db_commit(db);
}
