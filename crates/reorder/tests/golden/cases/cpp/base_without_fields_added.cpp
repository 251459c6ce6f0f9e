// Both pointers may lead to one object: a `visit` is a `count`.
// expect: unchanged
#include "shop.h"

struct count {
    long n;
};

struct visit : count {};

void pay(db *db, count *p, visit *q)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", p->n);
    q->n = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", q->n);
    db_commit(db);
}
