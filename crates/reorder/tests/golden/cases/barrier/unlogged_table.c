// A rollback undoes the changes of an unlogged table; only a crash loses them.
// schema: CREATE UNLOGGED TABLE basket (b_id INTEGER PRIMARY KEY, b_n INTEGER);
// expect: moves
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE basket SET b_n = b_n + 1 WHERE b_id = 2");
    db_commit(db);
}
