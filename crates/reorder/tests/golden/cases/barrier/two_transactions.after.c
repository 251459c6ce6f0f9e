// Nothing moves from one transaction to the other; within each the lighter update goes first.
// expect: moves
#include "shop.h"

void first(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_commit(db);
}

void second(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE shop SET s_count = s_count + 1 WHERE s_id = 2");
    db_run(db, "UPDATE region SET r_total = r_total + 2 WHERE r_id = 1");
    db_commit(db);
}
