// The number of changed rows is that of the region's update: both move together.
// server: mysql
// expect: moves
#include "shop.h"

long pay(struct db *db)
{
    long rows;

    db_begin(db);
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_total < 9");
    rows = db_changed(db);
    db_commit(db);
    return rows;
}
