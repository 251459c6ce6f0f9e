// The helper writes a nested field of the first element.
// function: pay
// expect: unchanged
#include "shop.h"

struct part {
    long n, m;
};

struct whole {
    long x;
    struct part part;
};

static void put(struct whole *p)
{
    p->part.n = 5;
}

void pay(struct db *db)
{
    struct whole a[4] = {{0}};

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", a[0].part.n);
    put(a);
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", a[0].part.n);
    db_commit(db);
}
