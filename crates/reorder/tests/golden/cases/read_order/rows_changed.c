// Whether the region was there is seen by the number of changed rows.
// isolation: read committed
// expect: unchanged
// keeps: read order
#include "shop.h"

long pay(struct db *db)
{
    long rows, balance;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_total < 9");
    rows = db_changed(db);
    balance = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    db_commit(db);
    return rows + balance;
}
