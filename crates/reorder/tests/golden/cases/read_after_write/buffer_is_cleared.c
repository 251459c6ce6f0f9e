// memset clears the number that the query wrote, before the transaction ends: the caller gets 0.
// expect: unchanged
#include <string.h>

#include "shop.h"

struct row {
    long region, customer;
};

long visit(struct db *db)
{
    struct row row;

    db_begin(db);
    row.region = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    memset(&row, 0, sizeof row);
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", row.customer);
    db_commit(db);
    return row.region;
}
