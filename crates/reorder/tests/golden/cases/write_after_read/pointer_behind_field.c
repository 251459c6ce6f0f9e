// Programs step from a field to the next one, though C does not define it.
// expect: unchanged
#include "shop.h"

struct part {
    long n, m;
};

struct whole {
    long x;
    struct part part;
};

void pay(struct db *db)
{
    struct whole o = {0};
    long *p = &o.part.n;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", o.part.m);
    p[1] = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", p[1]);
    db_commit(db);
}
