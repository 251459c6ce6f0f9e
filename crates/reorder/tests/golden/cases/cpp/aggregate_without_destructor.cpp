// The block does nothing with `x` at its end.
// expect: moves
#include "shop.h"

struct holder {
    long *p;
};

void pay(db *db)
{
    long x = 0, y = 0;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", x);
    {
        holder h{&y};
        *h.p = 5;
    }
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", y);
    db_commit(db);
}
