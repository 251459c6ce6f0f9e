// Two elements of one array.
// expect: moves
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

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", a[1].part.n);
    a[0].part.n = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", a[0].part.n);
    db_commit(db);
}
