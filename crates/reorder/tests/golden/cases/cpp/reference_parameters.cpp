// The caller may pass one variable twice.
// expect: unchanged
// keeps: read after write
#include "shop.h"

void pay(db *db, long &to, const long &from)
{
    db_begin(db);
    to = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", from);
    db_commit(db);
}
