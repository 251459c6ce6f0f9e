// The template is no function that the tool can look into.
// expect: refused, line 7: `pay` is a template, which the tool does not look into
#include "shop.h"

template <typename Amount> int pay(db *db, Amount amount)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount))
        return -1;
    if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
        return -1;
    db_commit(db);
    return 0;
}
