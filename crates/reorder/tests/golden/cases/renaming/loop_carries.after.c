// The values of the loop share a name, since one iteration reads what the one before it wrote.
// isolation: serializable
// renames: yes
// objective: position
// expect: moves
#include "shop.h"

long pay(struct db *db, int count)
{
    long v = 0, v_r1;

    db_begin(db);
    v_r1 = db_number(db, "SELECT c_visits FROM customer WHERE c_id = 1");
    db_run(db, "UPDATE item SET i_stock = $1 WHERE i_id = 1", v_r1);
    for (int i = 0; i < count; i++) {
        db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", v);
        v = db_number(db, "SELECT s_count FROM shop WHERE s_id = $1", i);
    }
    db_commit(db);
    return v_r1;
}
