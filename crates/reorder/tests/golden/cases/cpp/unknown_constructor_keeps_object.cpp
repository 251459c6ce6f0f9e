// The constructor may have stored the address of `o` where `where` finds it.
// expect: unchanged
#include "shop.h"

class watched {
public:
    long n;
    watched();
};

long *where();

void pay(db *db)
{
    watched o;
    long *p = where();

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", o.n);
    *p = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", *p);
    db_commit(db);
}
