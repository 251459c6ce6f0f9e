// The DELETE within the INSERT takes the rows that the query counts.
// expect: unchanged
// keeps: same table, both use the table `item`
#include "shop.h"

long clean(struct db *db)
{
    long count;

    db_begin(db);
    db_run(db, "WITH gone AS (DELETE FROM item WHERE i_stock = 0 RETURNING i_id) "
               "INSERT INTO sale (x_item, x_customer, x_amount) SELECT i_id, 0, 0 FROM gone");
    count = db_number(db, "SELECT count(*) FROM item");
    db_commit(db);
    return count;
}
