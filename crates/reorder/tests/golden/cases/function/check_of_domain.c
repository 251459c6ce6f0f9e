// schema: CREATE FUNCTION public.open(n integer) RETURNS bigint LANGUAGE sql AS $$ SELECT sum(r_total) FROM region $$;
// schema: CREATE DOMAIN public.share AS integer CHECK (VALUE < public.open(VALUE));
// schema: CREATE TABLE quota (q_id INTEGER PRIMARY KEY, q_used public.share);
// expect: unchanged
// keeps: function, `public.open`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE quota SET q_used = 3 WHERE q_id = 2");
    db_commit(db);
}
