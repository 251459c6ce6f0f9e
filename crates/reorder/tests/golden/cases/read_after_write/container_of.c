// The address of a field leads to the structure around it.
// expect: unchanged
#include <stddef.h>

#include "shop.h"

struct row {
    long region, customer;
};

void visit(struct db *db)
{
    struct row row = {0, 0};
    long *field = &row.customer;

    db_begin(db);
    row.region = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2",
           ((struct row *)((char *)field - offsetof(struct row, customer)))->region);
    db_commit(db);
}
