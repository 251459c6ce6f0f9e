// The markers stand in one list of statements, but in code that the tool does not look into.
// expect: refused, line 8: the queries of `pay` stand in `try` and `catch`
#include "shop.h"
#include "clearway_transaction.h"

int pay(db *db)
{
    try {
        BEGIN_TRANSACTION;
        if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
            throw 1;
        if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
            throw 2;
        END_TRANSACTION;
    } catch (int code) {
        db_rollback(db);
        return code;
    }
    return 0;
}
