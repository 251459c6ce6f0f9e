// The array is made before the program begins.
// function: pay
// expect: moves
#include "shop.h"

void pay(db *db)
{
    db_begin(db);
    static int counts[2] = {1, 2};
    counts[0]++;
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_commit(db);
}
