// Each element of `visited` leads to `visits`.
// expect: unchanged
// keeps: write after read, it writes `visits`
#include "shop.h"

void pay(struct db *db)
{
    long visits = 0, *visited[4] = {[0 ... 3] = &visits};

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", visits);
    *visited[2] = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", visits);
    db_commit(db);
}
