// The pointer leads to the structure that contains what `p` leads to.
// expect: unchanged
#include <stddef.h>
#include "shop.h"

struct part {
    long n, m;
};

struct whole {
    long x;
    struct part part;
};

void pay(struct db *db, struct part *p)
{
    struct whole *o = (struct whole *)((char *)p - offsetof(struct whole, part));

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", p->n);
    o->part.n = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", o->part.n);
    db_commit(db);
}
