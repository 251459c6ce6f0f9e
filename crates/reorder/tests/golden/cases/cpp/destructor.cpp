// The destructor of `guard` runs unknown code where the scope ends; its constructor is unknown too.
// expect: unchanged
// keeps: barrier
#include "shop.h"

struct Guard {
    Guard() { unknown(); }
    ~Guard() { unknown(); }
};

void pay(db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    Guard guard;
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
