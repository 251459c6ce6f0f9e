// The loop copies `p` to `q`, byte by byte.
// expect: unchanged
#include "shop.h"

void pay(struct db *db)
{
    long x = 0, *p = &x, *q;

    for (unsigned i = 0; i < sizeof p; i++)
        ((char *)&q)[i] = ((char *)&p)[i];

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", x);
    *q = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", *q);
    db_commit(db);
}
