// schema: CREATE FUNCTION part_of(n integer) RETURNS integer IMMUTABLE LANGUAGE sql AS $$ SELECT max(r_total) + n FROM region $$;
// schema: CREATE TABLE stay (y_id INTEGER, y_n INTEGER) PARTITION BY RANGE (part_of(y_id));
// expect: unchanged
// keeps: function, `part_of`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "INSERT INTO stay VALUES (1, 2)");
    db_commit(db);
}
