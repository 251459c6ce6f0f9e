// schema: CREATE FUNCTION open(n integer) RETURNS bigint LANGUAGE sql AS $$ SELECT sum(r_total) FROM region $$;
// schema: CREATE DOMAIN share AS integer CONSTRAINT fits CHECK (VALUE < open(VALUE));
// expect: unchanged
// keeps: function, `open`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_visits = 7::share WHERE c_id = 2");
    db_commit(db);
}
