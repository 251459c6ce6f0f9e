// The value becomes a row of the table.
// schema: CREATE FUNCTION open(n integer) RETURNS bigint LANGUAGE sql AS $$ SELECT sum(r_total) FROM region $$;
// schema: CREATE DOMAIN share AS integer CHECK (VALUE < open(VALUE));
// schema: CREATE TABLE span (low share, high integer);
// expect: unchanged
// keeps: function, `open`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_name = '(3,4)'::span::text WHERE c_id = 2");
    db_commit(db);
}
