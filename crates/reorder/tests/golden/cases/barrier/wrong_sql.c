// The tool names the place in the SQL.
// expect: unchanged
// keeps: barrier, in the SQL, line 1
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = WHERE r_id = 1");
    db_run(db, "UPDATE shop SET s_total = 1 WHERE s_id = 1");
    db_commit(db);
}
