// `errno` may be written by every call.
// expect: unchanged
// keeps: barrier
#include <errno.h>

#include "shop.h"

int pay(struct db *db)
{
    int error;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    error = errno;
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
    return error;
}
