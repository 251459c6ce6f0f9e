// The address goes through an integer.
// expect: unchanged
#include <stdint.h>

#include "shop.h"

void visit(struct db *db)
{
    long region = 0;
    uintptr_t number = (uintptr_t)&region;

    db_begin(db);
    *(long *)number = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", region);
    db_commit(db);
}
