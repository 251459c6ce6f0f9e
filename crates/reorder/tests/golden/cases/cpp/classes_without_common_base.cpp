// No object is both a `visit` and a `total`.
// expect: moves
#include "shop.h"

struct count {
    long n;
};

struct visit : count {};

struct total {
    long n;
};

void pay(db *db, total *p, visit *q)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", p->n);
    q->n = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", q->n);
    db_commit(db);
}
