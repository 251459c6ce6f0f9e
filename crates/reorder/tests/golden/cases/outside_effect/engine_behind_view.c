// server: mysql
// schema: CREATE TABLE audit (a_id INTEGER, a_text VARCHAR(30)) ENGINE=CSV;
// schema: CREATE VIEW notes AS SELECT a_text FROM audit;
// expect: unchanged
// keeps: barrier, the engine CSV
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "INSERT INTO notes VALUES ('x')");
    db_commit(db);
}
