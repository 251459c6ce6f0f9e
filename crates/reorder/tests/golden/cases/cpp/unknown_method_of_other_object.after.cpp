// Nothing has the address of `o`.
// expect: moves
#include "shop.h"

struct watched {
    long n;
    void keep();
};

long *where();

void pay(db *db)
{
    watched o{}, other{};
    other.keep();
    long *p = where();

    db_begin(db);
    *p = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", *p);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", o.n);
    db_commit(db);
}
