// Session variables of MySQL carry values from query to query.
// server: mysql
// expect: unchanged
// keeps: barrier
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = 1");
    db_run(db, "UPDATE region SET r_total = (@n := @n + 1) WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_visits = @n WHERE c_id = 2");
    db_commit(db);
}
