// What the unknown function does outside keeps its order with what the program prints.
// expect: unchanged
// keeps: outside effect
#include <stdio.h>

#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_count = charge(1) WHERE r_id = 1");
    printf("charged\n");
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
