// The macro rolls back if the update fails, and goes on.
// expect: unchanged
// keeps: barrier, it rolls back, and the transaction goes on
#include "shop.h"

#define TRY(call) do { if (call) db_rollback(db); } while (0)

int pay(struct db *db)
{
    db_begin(db);
    TRY(db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"));
    TRY(db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2"));
    db_commit(db);
    return 0;
}
