// The aggregate of the schema calls a function that reads no table.
// schema: CREATE FUNCTION step(integer, boolean) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT $1 + 1';
// schema: CREATE AGGREGATE truths(boolean) (SFUNC = step, STYPE = integer, INITCOND = '0');
// expect: moves
#include "shop.h"

long pay(struct db *db)
{
    long found;

    db_begin(db);
    found = db_number(db, "SELECT truths(c_balance > 0) FROM customer");
    db_run(db, "UPDATE region SET r_total = 1 WHERE r_id = 1");
    db_commit(db);
    return found;
}
