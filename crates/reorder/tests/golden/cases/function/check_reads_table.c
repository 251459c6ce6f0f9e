// The check of the row reads the table that the other query writes.
// schema: CREATE FUNCTION open() RETURNS bigint LANGUAGE sql AS $$ SELECT sum(r_total) FROM region $$;
// schema: CREATE TABLE quota (q_id INTEGER PRIMARY KEY, q_used INTEGER CHECK (q_used < open()));
// expect: unchanged
// keeps: function, `open`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE quota SET q_used = q_used + 1 WHERE q_id = 2");
    db_commit(db);
}
