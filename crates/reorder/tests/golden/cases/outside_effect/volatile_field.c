// The field is shared with something outside of the program.
// expect: unchanged
#include "shop.h"

struct device {
    volatile long state;
};

void pay(struct db *db, struct device *d)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", 1L);
    d->state = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", 2L);
    db_commit(db);
}
