// A read of a table in memory sees what others have not committed.
// server: mysql
// schema: CREATE TABLE rate (a_id INTEGER PRIMARY KEY, a_rate INTEGER) ENGINE=MEMORY;
// expect: unchanged
// keeps: barrier, the engine MEMORY
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_visits = (SELECT a_rate FROM rate) WHERE c_id = 2");
    db_commit(db);
}
