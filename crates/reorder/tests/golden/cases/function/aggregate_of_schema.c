// The aggregate of the schema reads a table, though a built-in one has its name.
// schema: CREATE FUNCTION step(integer, boolean) RETURNS integer LANGUAGE sql AS 'SELECT $1 + r_total FROM region';
// schema: CREATE AGGREGATE sum(boolean) (SFUNC = step, STYPE = integer);
// expect: unchanged
// keeps: function
#include "shop.h"

long pay(struct db *db)
{
    long found;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = 1 WHERE r_id = 1");
    found = db_number(db, "SELECT sum(c_balance > 0) FROM customer");
    db_commit(db);
    return found;
}
