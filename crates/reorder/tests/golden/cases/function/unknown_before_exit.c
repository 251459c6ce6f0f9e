// The function may have an effect that a rollback does not undo.
// expect: unchanged
// keeps: function, `charge`
#include "shop.h"

int pay(struct db *db, int amount)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_count = charge(1) WHERE r_id = 1");
    if (amount < 0) {
        db_rollback(db);
        return -1;
    }
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
    return 0;
}
