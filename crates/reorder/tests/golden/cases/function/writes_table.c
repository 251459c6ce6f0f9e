// The schema shows the function: it writes the log.
// schema: CREATE FUNCTION note(text) RETURNS integer AS $$ INSERT INTO log VALUES ($1); SELECT 1 $$ LANGUAGE sql;
// expect: unchanged
#include "shop.h"

long pay(struct db *db)
{
    long count;

    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = note('x') WHERE s_id = 1");
    count = db_number(db, "SELECT count(*) FROM log");
    db_commit(db);
    return count;
}
