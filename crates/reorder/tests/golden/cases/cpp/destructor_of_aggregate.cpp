// The destructor writes `x` at the end of the block.
// expect: unchanged
#include "shop.h"

struct setter {
    long *p;
    ~setter() { *p = 5; }
};

void pay(db *db)
{
    long x = 0;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", x);
    {
        setter s{&x};
    }
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", x);
    db_commit(db);
}
