// A number is renamed in C++ as in C; a variable with a deduced type is not.
// isolation: serializable
// renames: yes
// expect: moves
#include "shop.h"

long pay(struct db *db)
{
    db_begin(db);
    long v_r1;
    long v{db_number(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 1 RETURNING c_shop")};
    v_r1 = db_number(db, "SELECT c_visits FROM customer WHERE c_id = $1", 1);
    db_run(db, "UPDATE item SET i_stock = $1 WHERE i_id = 1", v_r1);
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", v);
    db_commit(db);
    return v_r1;
}
