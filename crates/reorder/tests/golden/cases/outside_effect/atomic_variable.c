// Another thread may write the variable between the two reads.
// expect: unchanged
#include "shop.h"

static _Atomic long state;

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", state);
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", state);
    db_commit(db);
}
