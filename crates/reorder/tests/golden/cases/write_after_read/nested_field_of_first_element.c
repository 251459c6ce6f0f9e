// A pointer to an array of structures leads to its first element.
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
    struct whole a[4] = {{0}};
    struct whole *p = a;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", p->part.n);
    a[0].part.n = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", a[0].part.n);
    db_commit(db);
}
