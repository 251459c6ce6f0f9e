// expect: refused, no transaction found
#include "shop.h"

int pay(db *db)
try {
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        throw 1;
    db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    db_commit(db);
    return 0;
} catch (int code) {
    db_rollback(db);
    return code;
}
