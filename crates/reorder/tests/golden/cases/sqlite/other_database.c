// The schema does not define a table of the attached database.
// server: sqlite
// expect: unchanged
// keeps: barrier, `archive.customer`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE archive.customer SET c_visits = 3 WHERE c_id = 2");
    db_commit(db);
}
