// schema: CREATE FUNCTION near(a integer, b integer) RETURNS boolean LANGUAGE sql AS $$ SELECT a - b < max(r_total) FROM region $$;
// schema: CREATE OPERATOR ~~~ (LEFTARG = integer, RIGHTARG = integer, FUNCTION = near);
// expect: unchanged
// keeps: function, `near`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id ~~~ 2");
    db_commit(db);
}
