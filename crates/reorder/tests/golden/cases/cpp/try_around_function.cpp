// What the messages on `try` advise: the transaction is a function of its own.
// expect: moves
#include "shop.h"

static void transact(db *db)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1")) {
        db_rollback(db);
        throw 1;
    }
    if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2")) {
        db_rollback(db);
        throw 2;
    }
    db_commit(db);
}

int pay(db *db)
{
    try {
        transact(db);
    } catch (int code) {
        return code;
    }
    return 0;
}
