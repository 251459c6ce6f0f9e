// C++ refuses a jump that enters the scope of an initialized variable: the jump to `fail` stays
// behind `total`. In C the customer's update would move before the query.
// isolation: serializable
// expect: unchanged
// keeps: declaration, a jump must not enter the scope of an initialized variable
#include "shop.h"

long pay(db *db)
{
    db_begin(db);
    long total = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
        goto fail;
    db_commit(db);
    return total;
fail:
    db_rollback(db);
    return -1;
}
