// The function reads all shops, as the schema shows.
// schema: CREATE FUNCTION richest() RETURNS integer AS $$ SELECT max(s_total) FROM shop $$ LANGUAGE sql;
// expect: unchanged
#include "shop.h"

long pay(struct db *db)
{
    long total;

    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = 1");
    total = db_number(db, "SELECT richest()");
    db_commit(db);
    return total;
}
