// A pointer to the first member is one to the structure, also without a cast.
// expect: unchanged
#include "shop.h"

struct part {
    long n, m;
};

struct whole {
    struct part part;
    long x;
};

void pay(struct db *db)
{
    struct whole o = {{0, 0}, 0};
    void *v = &o.part;
    struct whole *p = v;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", p->x);
    o.x = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", o.x);
    db_commit(db);
}
