// The lambda is no function that the tool can look into.
// expect: refused, line 15: `pay` has queries in a lambda, which the tool does not look into
#include "shop.h"

template <typename Body> int retried(Body body)
{
    for (int left = 3; left > 0; left--)
        if (body() == 0)
            return 0;
    return -1;
}

int pay(db *db)
{
    return retried([&] {
        db_begin(db);
        if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
            return -1;
        if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
            return -1;
        db_commit(db);
        return 0;
    });
}
