// Only the caller rolls back, which the tool does not follow; the message says what helps.
// server: mysql
// function: attempt
// expect: unchanged
// keeps: barrier, and what its callers do is not followed: roll back in `attempt` itself before it
#include "shop.h"

static int attempt(struct db *db)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        return -1;
    if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
        return -1;
    db_commit(db);
    return 0;
}

int pay(struct db *db)
{
    for (int left = 3; left > 0; left--) {
        if (attempt(db) == 0)
            return 0;
        db_rollback(db);
    }
    return -1;
}
