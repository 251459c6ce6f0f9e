// The field is another name for `x`.
// expect: unchanged
#include "shop.h"

struct holder {
    long &n;
};

void pay(db *db)
{
    long x = 0;
    holder h{x};

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", x);
    h.n = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", h.n);
    db_commit(db);
}
