// The caller reads what the pointer leads to.
// isolation: serializable
// renames: yes
// expect: unchanged
#include "shop.h"

void pay(struct db *db, long *out)
{
    db_begin(db);
    *out = db_number(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 1 RETURNING c_shop");
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", *out);
    *out = db_number(db, "SELECT c_visits FROM customer WHERE c_id = $1", 1);
    db_run(db, "UPDATE item SET i_stock = $1 WHERE i_id = 1", *out);
    db_commit(db);
}
