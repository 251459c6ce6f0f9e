// A function of another database is not the one of the schema.
// server: mysql
// schema: CREATE FUNCTION rate(n int) RETURNS int RETURN n * 2;
// expect: unchanged
// keeps: function, `old.rate`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_visits = old.rate(3) WHERE c_id = 2");
    db_commit(db);
}
