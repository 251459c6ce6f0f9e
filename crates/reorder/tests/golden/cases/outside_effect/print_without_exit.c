// Nothing depends on the text, and no exit stands around it.
// expect: moves
#include <stdio.h>

#include "shop.h"

void pay(struct db *db, int amount)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount);
    printf("paying %d\n", amount);
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = 2", amount);
    db_commit(db);
}
