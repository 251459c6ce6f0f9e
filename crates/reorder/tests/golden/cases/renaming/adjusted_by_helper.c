// The helper reads and writes the variable through a pointer: the value is copied before the call.
// isolation: serializable
// renames: yes
// expect: moves
// function: pay
#include "shop.h"

static void adjust(long *value)
{
    *value = *value % 100 + 1;
}

void pay(struct db *db, long n)
{
    long v;

    db_begin(db);
    v = n * 3;
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", v);
    adjust(&v);
    db_run(db, "UPDATE customer SET c_balance = $1 WHERE c_id = 2", v);
    db_commit(db);
}
