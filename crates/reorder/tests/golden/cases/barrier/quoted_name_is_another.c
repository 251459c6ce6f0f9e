// PostgreSQL keeps the case of a quoted name.
// expect: unchanged
// keeps: barrier, the schema does not define `Customer`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE \"Customer\" SET c_visits = c_visits + 1 WHERE c_id = 3");
    db_commit(db);
}
