// The program may define the function, which may do anything.
// server: sqlite
// schema: CREATE TABLE quota (q_id INTEGER PRIMARY KEY, q_used INTEGER CHECK (allowed(q_used)));
// expect: unchanged
// keeps: function, `allowed`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE quota SET q_used = 3 WHERE q_id = 2");
    db_commit(db);
}
