// The helper is a template, which the tool does not follow.
// function: pay
// expect: unchanged
// keeps: barrier
#include "shop.h"

template <typename T> void add(db *db, T amount)
{
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount);
}

void pay(db *db)
{
    db_begin(db);
    add(db, 5);
    db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    db_commit(db);
}
