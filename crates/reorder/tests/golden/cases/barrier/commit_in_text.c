// Behind the text there is no transaction.
// expect: unchanged
// keeps: barrier, which commits
#include "shop.h"

int pay(struct db *db, int amount)
{
    db_begin(db);
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_run(db, "UPDATE log SET l_text = 'x'; COMMIT; UPDATE log SET l_text = 'y'");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (amount < 0) {
        db_rollback(db);
        return -1;
    }
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 3");
    db_commit(db);
    return 0;
}
