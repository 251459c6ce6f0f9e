// Nothing runs at the end of the objects.
// function: pay
// expect: moves
#include "shop.h"

struct Holder {
    db *to;
    long counts[2];
    int ready() const { return 0; }
};

void pay(db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    Holder holder{db, {1, 2}};
    Holder{db, {}}.ready();
    (void)holder;
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
