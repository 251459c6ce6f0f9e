// expect: unchanged
#include "shop.h"

void visit(struct db *db)
{
    long region = 0, item = 0, *place = &item, **way = &place;

    *way = &region;
    db_begin(db);
    *place = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", region);
    db_commit(db);
    (void)item;
}
