// The reference leads to a field of `o`.
// function: pay
// expect: unchanged
#include "shop.h"

struct part {
    long n;
};

struct whole {
    long x;
    part inner;
    part &get() { return inner; }
};

void pay(db *db)
{
    whole o{};
    part &p = o.get();

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", p.n);
    o.inner.n = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", o.inner.n);
    db_commit(db);
}
