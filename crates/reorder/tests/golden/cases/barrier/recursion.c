// expect: unchanged
// function: pay
// keeps: barrier
#include "shop.h"

static void tree(struct db *db, long id)
{
    long parent = db_number(db, "SELECT c_shop FROM customer WHERE c_id = $1", id);

    if (parent != 0)
        tree(db, parent);
}

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    tree(db, 7);
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
