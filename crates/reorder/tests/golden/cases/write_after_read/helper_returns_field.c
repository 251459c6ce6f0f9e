// The result of the helper leads to a field of `o`.
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

static struct part *inner(struct whole *o)
{
    return &o->part;
}

void pay(struct db *db)
{
    struct whole o = {0};
    struct part *p = inner(&o);

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", p->n);
    o.part.n = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", o.part.n);
    db_commit(db);
}
