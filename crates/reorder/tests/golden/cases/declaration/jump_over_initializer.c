// C allows a jump that enters the scope of an initialized variable.
// server: sqlite
// expect: moves
#include "shop.h"

long pay(struct db *db)
{
    db_begin(db);
    long total = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
        goto fail;
    db_commit(db);
    return total;
fail:
    db_rollback(db);
    return -1;
}
