// The helper returns a structure that holds the address.
// function: visit
// expect: unchanged
#include "shop.h"

struct target {
    long *place;
};

static struct target target_of(long *place)
{
    struct target target;

    target.place = place;
    return target;
}

void visit(struct db *db)
{
    long region = 0;
    struct target target = target_of(&region);

    db_begin(db);
    *target.place = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", region);
    db_commit(db);
}
