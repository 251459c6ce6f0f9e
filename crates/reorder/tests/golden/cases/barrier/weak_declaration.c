// A declaration behind the definition makes the function weak.
// function: pay
// expect: unchanged
// keeps: barrier, `notify`, which is weak
#include "shop.h"

int notify(struct db *db, int customer)
{
    (void)db;
    (void)customer;
    return 0;
}

#define REPLACEABLE __attribute__((__weak__))
int notify(struct db *db, int customer) REPLACEABLE;

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    notify(db, 2);
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
