// `v` holds four values. The second and the third need names of their own in the new order; the last
// one shares the name of the first.
// isolation: serializable
// renames: yes
// expect: moves
#include "shop.h"

long pay(struct db *db)
{
    long v, v_r1, v_r2;

    db_begin(db);
    v = db_number(db, "SELECT s_count FROM shop WHERE s_id = 1");
    v_r1 = db_number(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 1 RETURNING c_shop");
    v_r2 = db_number(db, "SELECT c_visits FROM customer WHERE c_id = $1", 1);
    db_run(db, "UPDATE sale SET x_amount = $1 WHERE x_item = 1", v);
    db_run(db, "UPDATE item SET i_stock = $1 WHERE i_id = 1", v_r2);
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", v_r1);
    db_commit(db);
    v = 7;
    return v;
}
