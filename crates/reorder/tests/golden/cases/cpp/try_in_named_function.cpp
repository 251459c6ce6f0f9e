// The message for a named function is that of one that the tool has searched for.
// function: pay
// expect: refused, line 8: the queries of `pay` stand in `try` and `catch`
#include "shop.h"

int pay(db *db)
{
    try {
        db_begin(db);
        if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
            throw 1;
        if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
            throw 2;
        db_commit(db);
    } catch (int code) {
        db_rollback(db);
        return code;
    }
    return 0;
}
