// schema: CREATE FUNCTION span_of(n integer) RETURNS int4range IMMUTABLE LANGUAGE sql AS $$ SELECT int4range(min(r_id), n) FROM region $$;
// schema: CREATE TABLE stay (y_id INTEGER PRIMARY KEY, y_end INTEGER, EXCLUDE USING gist (span_of(y_end) WITH &&));
// expect: unchanged
// keeps: function, `span_of`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE stay SET y_end = 4 WHERE y_id = 2");
    db_commit(db);
}
