// The module of a virtual table reads the rows of another one.
// server: sqlite
// schema: CREATE VIRTUAL TABLE ft USING fts5(r_name, content='region');
// expect: unchanged
// keeps: barrier, `ft` is a virtual table
#include "shop.h"

long pay(struct db *db)
{
    long found;

    db_begin(db);
    db_run(db, "UPDATE region SET r_name = 'x' WHERE r_id = 1");
    found = db_number(db, "SELECT length(r_name) FROM ft");
    db_commit(db);
    return found;
}
