// schema: CREATE TYPE money2 AS (v integer);
// schema: CREATE FUNCTION as_money(a integer) RETURNS money2 LANGUAGE sql AS $$ SELECT row(max(r_total)) FROM region $$;
// schema: CREATE CAST (integer AS money2) WITH FUNCTION public.as_money(integer) AS IMPLICIT;
// expect: unchanged
// keeps: function, `public.as_money`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    db_commit(db);
}
