// On SQLite a failed query leaves the others as they are, unless the disk is full.
// server: sqlite
// expect: unchanged
// keeps: exit, the server may roll back what stands before it
#include "shop.h"

int pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2")) {
        db_rollback(db);
        return -1;
    }
    db_commit(db);
    return 0;
}
