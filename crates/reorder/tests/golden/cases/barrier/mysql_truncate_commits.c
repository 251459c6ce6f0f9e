// MySQL commits before it truncates, so each later query is a transaction of its own, which no
// exit undoes.
// server: mysql
// expect: unchanged
// keeps: barrier, which commits
#include "shop.h"

int pay(struct db *db, int amount)
{
    db_begin(db);
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_run(db, "TRUNCATE TABLE log");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (amount < 0) {
        db_rollback(db);
        return -1;
    }
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 3");
    db_commit(db);
    return 0;
}
