// `p[0]` is `*p`.
// expect: unchanged
#include "shop.h"

struct part {
    long n, m;
};

struct whole {
    long x;
    struct part part;
};

void pay(struct db *db, struct whole *p)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", p[0].part.n);
    p->part.n = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", p->part.n);
    db_commit(db);
}
