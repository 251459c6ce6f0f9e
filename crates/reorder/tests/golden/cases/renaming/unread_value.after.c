// Nothing reads the greatest stock. In the new order it comes between the value of `v` that the last
// query uses and that query, so it shares a new name with the value that is returned.
// isolation: serializable
// renames: yes
// expect: moves
#include "shop.h"

long pay(struct db *db)
{
    long v, v_r1;

    db_begin(db);
    v = db_number(db, "SELECT c_visits FROM customer WHERE c_id = $1", 1);
    db_run(db, "UPDATE item SET i_stock = 3 WHERE i_id = 1");
    v_r1 = db_number(db, "SELECT max(i_stock) FROM item");
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", v);
    db_commit(db);
    v_r1 = 7;
    return v_r1;
}
