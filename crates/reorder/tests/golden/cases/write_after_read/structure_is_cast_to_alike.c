// Both structures begin with the same fields, under other names.
// expect: unchanged
#include "shop.h"

struct shop {
    long id, total;
};

struct customer {
    long id, visits, balance;
};

void pay(struct db *db, struct customer *o)
{
    struct shop *p = (struct shop *)o;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", o->visits);
    p->total = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", p->total);
    db_commit(db);
}
