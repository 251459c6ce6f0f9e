// The comment stands between two statements of one line.
// expect: moves
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = 1"); /* first */ db_run(db, "UPDATE customer SET c_visits = 1"); // second
    db_commit(db);
}
