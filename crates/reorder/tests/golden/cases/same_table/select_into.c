// SELECT INTO makes a table.
// expect: unchanged
#include "shop.h"

long copy(struct db *db)
{
    long count;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "SELECT * INTO rich FROM customer WHERE c_balance > 100");
    count = db_number(db, "SELECT count(*) FROM rich");
    db_commit(db);
    return count;
}
