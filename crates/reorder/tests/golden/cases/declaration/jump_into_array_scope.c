// The jump of the second update must not come before the array of variable length: C refuses a
// jump into its scope.
// expect: unchanged
// keeps: barrier
#include <string.h>

#include "shop.h"

int visit(struct db *db, int length)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (length < 1) {
        db_rollback(db);
        return -1;
    }
    char name[length];
    memset(name, 0, sizeof name);
    db_run(db, "UPDATE item SET i_name = $1 WHERE i_id = 5", name);
    if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2")) {
        db_rollback(db);
        return -1;
    }
    db_commit(db);
    return 0;
}
