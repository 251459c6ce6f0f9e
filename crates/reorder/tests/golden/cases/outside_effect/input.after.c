// The program reads the second number behind the first update, and may ask for it depending on
// what others see. Nothing but the order of inputs and outputs is kept.
// expect: moves
#include <stdio.h>

#include "shop.h"

void pay(struct db *db)
{
    int n = 0;

    db_begin(db);
    if (scanf("%d", &n) != 1)
        n = 0;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", n);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_commit(db);
}
