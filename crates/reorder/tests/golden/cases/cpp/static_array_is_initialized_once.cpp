// The query runs when the function is called first.
// function: pay
// expect: unchanged
// keeps: same table
#include "shop.h"

void pay(db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    static int once[1] = {
        db_run(db, "UPDATE region SET r_total = r_total * 10 WHERE r_id = 1")};
    (void)once;
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
