// The condition of a table calls the function `match` of the program.
// server: sqlite
// schema: CREATE TABLE tag (id INTEGER PRIMARY KEY, x TEXT CHECK (x MATCH 'a'));
// expect: unchanged
// keeps: function, `match`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = 1 WHERE r_id = 1");
    db_run(db, "UPDATE tag SET x = 'b' WHERE id = 1");
    db_commit(db);
}
