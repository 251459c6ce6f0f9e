// Nothing reads the greatest stock. In the order that is best if each value has its own name, it
// comes between each other value of `v` and a query that uses it. Only a name of its own would
// help, but compilers warn of a variable that is never read. So it shares the name with which the
// order costs least, and its query does not come between those of that value.
// isolation: serializable
// renames: yes
// expect: moves
#include "shop.h"

long pay(struct db *db)
{
    long v;

    db_begin(db);
    v = db_number(db, "SELECT s_count FROM shop WHERE s_id = 1");
    db_run(db, "UPDATE sale SET x_amount = $1 WHERE x_item = 1", v);
    db_run(db, "UPDATE item SET i_stock = $1 WHERE i_id = 1", v);
    v = db_number(db, "SELECT max(i_stock) FROM item");
    v = db_number(db, "SELECT c_visits FROM customer WHERE c_id = $1", 1);
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", v);
    db_commit(db);
    return 0;
}
