// schema: CREATE FUNCTION next_share() RETURNS integer LANGUAGE sql AS $$ SELECT max(r_total) FROM region $$;
// schema: CREATE DOMAIN share AS integer DEFAULT next_share();
// schema: CREATE TABLE quota (q_id INTEGER PRIMARY KEY, q_used share);
// expect: unchanged
// keeps: function, `next_share`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "INSERT INTO quota (q_id) VALUES (2)");
    db_commit(db);
}
