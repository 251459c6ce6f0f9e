// memcpy copies the region's number into `copy`.
// expect: unchanged
// keeps: read after write
#include <string.h>

#include "shop.h"

void visit(struct db *db)
{
    long region, copy;

    db_begin(db);
    region = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    memcpy(&copy, &region, sizeof copy);
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", copy);
    db_commit(db);
}
