// No attribute of the function lets another definition replace it.
// function: pay
// expect: moves
#include "shop.h"

__attribute__((noinline)) int notify(struct db *db, int customer)
{
    (void)db;
    (void)customer;
    return 0;
}

void pay(struct db *db)
{
    db_begin(db);
    notify(db, 2);
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_commit(db);
}
