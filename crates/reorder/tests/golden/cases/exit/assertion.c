// The assertion calls a function that the tool does not know.
// expect: unchanged
// keeps: barrier
#include <assert.h>

#include "shop.h"

void pay(struct db *db, int n)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    assert(n != 0);
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", 100 / n);
    db_commit(db);
}
