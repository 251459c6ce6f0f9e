// The pointer to the first row steps into the second one.
// expect: unchanged
// keeps: write after read, it writes `visits`
#include "shop.h"

void pay(struct db *db)
{
    long visits[2][3] = {{0}};
    long *all = visits[0];

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", visits[1][0]);
    all[3] = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", visits[1][0]);
    db_commit(db);
}
