// Both pointers lead to the object of the compound literal.
// expect: unchanged
#include "shop.h"

struct part {
    long n, m;
};

void pay(struct db *db)
{
    struct part *p = &(struct part){1, 2};
    struct part *q = p;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", p->n);
    q->n = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", q->n);
    db_commit(db);
}
