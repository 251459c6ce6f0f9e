// The function runs when the variable's scope ends: what it does is not seen in the source.
// expect: unchanged
// keeps: barrier
#include "shop.h"

static void release(int *handle)
{
    unknown();
    *handle = 0;
}

void visit(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    __attribute__((cleanup(release))) int handle = 1;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", handle);
    db_commit(db);
}
