// The loop takes the address in its first run and writes through it in the second.
// expect: unchanged
#include "shop.h"

void visit(struct db *db, int count)
{
    long region = 0, item = 0, *place = &item;

    for (int i = 0; i < count; i++) {
        db_begin(db);
        *place = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
        db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", region);
        db_commit(db);
        place = &region;
    }
}
