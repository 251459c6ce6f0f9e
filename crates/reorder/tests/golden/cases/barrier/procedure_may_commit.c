// The procedure is not known: MySQL commits if it does.
// server: mysql
// expect: unchanged
// keeps: barrier, which may commit: the schema does not define `tidy`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_run(db, "CALL tidy(3)");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 3");
    db_commit(db);
}
