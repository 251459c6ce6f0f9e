// The update does not assign the column that the query reads.
// expect: moves
#include "shop.h"

long pay(struct db *db, int amount)
{
    long region;

    db_begin(db);
    region = db_number(db, "SELECT s_region FROM shop WHERE s_id = 1");
    db_run(db, "UPDATE shop SET s_total = s_total + $1 WHERE s_id = 1", amount);
    db_commit(db);
    return region;
}
