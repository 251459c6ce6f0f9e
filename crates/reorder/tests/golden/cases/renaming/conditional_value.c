// The condition decides which value the last update gets: both definitions share a name.
// isolation: serializable
// renames: yes
// expect: unchanged
#include "shop.h"

void pay(struct db *db, int condition)
{
    long v;

    db_begin(db);
    v = db_number(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 1 RETURNING c_shop");
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", v);
    if (condition)
        v = db_number(db, "SELECT c_visits FROM customer WHERE c_id = $1", 1);
    db_run(db, "UPDATE item SET i_stock = $1 WHERE i_id = 1", v);
    db_commit(db);
}
