// The first update ends its line with a comment, and the commit stands behind the second: the
// comment must not swallow the commit.
// expect: moves
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);    db_run(db, "UPDATE customer SET c_visits = 1");
 db_run(db, "UPDATE region SET r_total = 1"); // heavy
 db_commit(db);
}
