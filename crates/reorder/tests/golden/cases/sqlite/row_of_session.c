// server: sqlite
// expect: unchanged
// keeps: function, `last_insert_rowid`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "INSERT INTO log VALUES ('x')");
    db_run(db, "UPDATE region SET r_total = last_insert_rowid() WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_visits = last_insert_rowid() WHERE c_id = 2");
    db_commit(db);
}
