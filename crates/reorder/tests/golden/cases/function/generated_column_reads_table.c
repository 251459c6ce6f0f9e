// schema: CREATE FUNCTION share_of(n integer) RETURNS integer IMMUTABLE LANGUAGE sql AS $$ SELECT n + max(r_total) FROM region $$;
// schema: CREATE TABLE quota (q_id INTEGER PRIMARY KEY, q_used INTEGER, q_part INTEGER GENERATED ALWAYS AS (share_of(q_used)) STORED);
// expect: unchanged
// keeps: function, `share_of`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE quota SET q_used = 4 WHERE q_id = 2");
    db_commit(db);
}
