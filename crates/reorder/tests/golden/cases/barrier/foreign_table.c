// It is not known what the other server does at a rollback.
// schema: CREATE FOREIGN TABLE stock (k_id INTEGER, k_n INTEGER) SERVER other;
// expect: unchanged
// keeps: barrier, is a foreign table
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE stock SET k_n = 3 WHERE k_id = 2");
    db_commit(db);
}
