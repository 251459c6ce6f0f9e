// The code behind `fail` reads whichever value was written last.
// isolation: serializable
// renames: yes
// expect: unchanged
#include "shop.h"

long pay(struct db *db)
{
    long v;

    db_begin(db);
    v = db_number(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 1 RETURNING c_shop");
    if (db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", v))
        goto fail;
    v = db_number(db, "SELECT c_visits FROM customer WHERE c_id = $1", 1);
    if (db_run(db, "UPDATE item SET i_stock = $1 WHERE i_id = 1", v))
        goto fail;
    db_commit(db);
    return 0;

fail:
    db_rollback(db);
    return v;
}
