// function: pay
// expect: moves
#include "shop.h"

static int fail(db *db, int code) noexcept
{
    db_rollback(db);
    return code;
}

int pay(db *db)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        return fail(db, 1);
    if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
        return fail(db, 2);
    db_commit(db);
    return 0;
}
