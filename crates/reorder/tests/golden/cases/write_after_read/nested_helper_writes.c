// The helper counts in a static variable, and the second call sees the count of the first.
// function: pay
// expect: unchanged
#include "shop.h"

static int next(void)
{
    static int count;

    return ++count;
}

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", next());
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", next());
    db_commit(db);
}
