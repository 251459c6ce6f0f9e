// `v_r1` is another variable and `v_r2` a word of a comment.
// isolation: serializable
// renames: yes
// expect: moves
#include "shop.h"

/* Returns more than v_r2. */
long pay(struct db *db, long v_r1)
{
    long v, v_r3;

    db_begin(db);
    v = db_number(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 1 RETURNING c_shop");
    v_r3 = db_number(db, "SELECT c_visits FROM customer WHERE c_id = $1", v_r1);
    db_run(db, "UPDATE item SET i_stock = $1 WHERE i_id = 1", v_r3);
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", v);
    db_commit(db);
    return v_r3;
}
