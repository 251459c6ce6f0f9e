// The helper lets `p` lead to `y`.
// function: pay
// expect: unchanged
#include "shop.h"

static void set(long *&p, long &value)
{
    p = &value;
}

void pay(db *db)
{
    long x = 0, y = 0, *p = &x;
    set(p, y);

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", y);
    *p = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", *p);
    db_commit(db);
}
