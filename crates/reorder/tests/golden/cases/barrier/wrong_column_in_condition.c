// expect: unchanged
// keeps: barrier, `cid`; did you mean `c_id`?
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_visits = 3 WHERE cid = 2");
    db_commit(db);
}
