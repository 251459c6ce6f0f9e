// The next call sees the last value.
// isolation: serializable
// renames: yes
// expect: unchanged
// keeps: write after read, it writes `v`
#include "shop.h"

void pay(struct db *db)
{
    static long v;

    db_begin(db);
    v = db_number(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 1 RETURNING c_shop", v);
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", v);
    v = db_number(db, "SELECT c_visits FROM customer WHERE c_id = $1", 1);
    db_run(db, "UPDATE item SET i_stock = $1 WHERE i_id = 1", v);
    db_commit(db);
}
