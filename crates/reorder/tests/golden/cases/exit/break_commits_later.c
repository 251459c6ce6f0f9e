// The `break` leaves without a rollback, with the value of `v` that the second query has left. The
// code behind the loop is in another list of statements.
// server: mysql
// isolation: serializable
// expect: unchanged
#include "shop.h"

long pay(struct db *db, int n)
{
    long v = 0;

    for (int tries = 0; tries < 3; tries++) {
        db_begin(db);
        v = db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
        v = db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
        if (n > 3)
            break;
        v = 0;
        db_commit(db);
        return v;
    }
    return v;
}
