// What commits before the transaction begins is not part of it.
// server: mysql
// expect: moves
#include "shop.h"

void pay(struct db *db)
{
    db_run(db, "CREATE TABLE IF NOT EXISTS basket (b_item INTEGER)");
    db_begin(db);
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 3");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_commit(db);
}
