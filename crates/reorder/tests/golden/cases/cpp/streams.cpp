// The output keeps its order with the exits, so nothing moves.
// expect: unchanged
// keeps: outside effect
#include <iostream>

#include "shop.h"

int pay(db *db)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    std::cout << "region" << std::endl;
    if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
