// Without the strict mode MySQL stores 2147483647 for both: the second query deletes the row.
// server: mysql
// expect: unchanged
// keeps: same table, `customer`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "REPLACE INTO customer VALUES (3000000000, 1, 'a', 'a@x', 0, 0)");
    db_run(db, "DELETE FROM customer WHERE c_id = 2147483647");
    db_commit(db);
}
