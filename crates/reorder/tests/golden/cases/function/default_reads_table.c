// schema: CREATE FUNCTION public.next_share() RETURNS integer LANGUAGE sql AS $$ SELECT max(r_total) FROM region $$;
// schema: CREATE TABLE quota (q_id INTEGER PRIMARY KEY, q_used INTEGER DEFAULT public.next_share());
// expect: unchanged
// keeps: function, `public.next_share`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "INSERT INTO quota (q_id) VALUES (2)");
    db_commit(db);
}
