// `o.*field` is `o.y`.
// expect: unchanged
#include "shop.h"

struct whole {
    long x, y;
};

void pay(db *db)
{
    whole o{};
    long whole::*field = &whole::y;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", o.y);
    o.*field = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", o.*field);
    db_commit(db);
}
