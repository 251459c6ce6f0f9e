// The lines end with CR LF.
// expect: moves
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE customer SET c_visits = 1");
    db_run(db, "UPDATE region SET r_total = 1");
    db_commit(db);
}
