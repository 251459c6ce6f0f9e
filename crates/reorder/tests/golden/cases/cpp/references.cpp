// `alias` is another name of `region`.
// expect: unchanged
// keeps: read after write
#include "shop.h"

void pay(db *db)
{
    long region = 0;
    long &alias = region;

    db_begin(db);
    alias = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", region);
    db_commit(db);
}
