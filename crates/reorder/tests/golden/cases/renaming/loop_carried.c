// The sum is one value from its begin to its end.
// isolation: serializable
// renames: yes
// expect: unchanged
#include "shop.h"

long pay(struct db *db, int count)
{
    long v = 0;

    db_begin(db);
    for (int i = 0; i < count; i++) {
        v += db_number(db, "UPDATE customer SET c_visits = 1 WHERE c_id = $1 RETURNING c_shop", i);
        db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", v);
    }
    v += db_number(db, "SELECT c_visits FROM customer WHERE c_id = $1", v);
    db_run(db, "UPDATE item SET i_stock = $1 WHERE i_id = 1", v);
    db_commit(db);
    return v;
}
