// expect: moves
// isolation: serializable
#include "shop.h"

long visit(struct db *db, long count)
{
    long region;

    db_begin(db);
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", count);
    region = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_commit(db);
    return region;
}
