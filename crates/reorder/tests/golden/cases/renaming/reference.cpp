// `r` is another name of `v` wherever it is read: only the value that is not read through `r` gets
// a new name.
// isolation: serializable
// renames: yes
// expect: moves
#include "shop.h"

void pay(struct db *db)
{
    long v = 0;
    long &r = v;

    db_begin(db);
    v = db_number(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 1 RETURNING c_shop");
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", v);
    v = db_number(db, "SELECT c_visits FROM customer WHERE c_id = $1", 1);
    db_run(db, "UPDATE item SET i_stock = $1 WHERE i_id = 1", r);
    db_commit(db);
}
