// The ranges are of the domain.
// schema: CREATE FUNCTION open(n integer) RETURNS bigint LANGUAGE sql AS $$ SELECT sum(r_total) FROM region $$;
// schema: CREATE DOMAIN share AS integer CHECK (VALUE < open(VALUE));
// schema: CREATE TYPE span AS RANGE (subtype = share);
// schema: CREATE TABLE quota (q_id INTEGER PRIMARY KEY, q_span span_multirange);
// expect: unchanged
// keeps: function, `open`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE quota SET q_span = '{[3,4)}' WHERE q_id = 2");
    db_commit(db);
}
