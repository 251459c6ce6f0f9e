// The lambda stands behind the transaction and reads the last value.
// isolation: serializable
// renames: yes
// expect: unchanged
// not renamed: it is mentioned in a way that is not represented
#include "shop.h"

long pay(struct db *db)
{
    long v;

    db_begin(db);
    v = db_number(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 1 RETURNING c_shop");
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", v);
    v = db_number(db, "SELECT c_visits FROM customer WHERE c_id = $1", 1);
    db_run(db, "UPDATE item SET i_stock = $1 WHERE i_id = 1", v);
    db_commit(db);
    return [&]() { return v; }();
}
