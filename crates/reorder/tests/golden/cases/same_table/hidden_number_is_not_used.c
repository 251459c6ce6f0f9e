// An update gives no row a number: it and an insert are of different rows.
// server: sqlite
// schema: CREATE TABLE tag (id TEXT PRIMARY KEY, n INTEGER);
// expect: moves
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE tag SET n = n + 1 WHERE id = '1'");
    db_run(db, "UPDATE tag SET n = n + 1 WHERE id = '2'");
    db_run(db, "INSERT INTO customer (c_id, c_name) VALUES (3, 'c')");
    db_commit(db);
}
