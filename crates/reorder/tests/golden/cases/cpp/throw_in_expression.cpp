// expect: unchanged
#include "shop.h"

int pay(db *db, int amount)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount);
    int share = amount > 0 ? amount / 2 : throw 3;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", share);
    db_commit(db);
    return share;
}
