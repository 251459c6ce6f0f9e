// The paper's first special case: the variable is of no primitive type.
// isolation: serializable
// renames: yes
// expect: unchanged
// not renamed: it is a structure
#include "shop.h"

struct visit {
    long count;
};

void pay(struct db *db)
{
    struct visit visit;

    db_begin(db);
    visit.count = db_number(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 1 RETURNING c_shop");
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", visit.count);
    visit.count = db_number(db, "SELECT c_visits FROM customer WHERE c_id = $1", 1);
    db_run(db, "UPDATE item SET i_stock = $1 WHERE i_id = 1", visit.count);
    db_commit(db);
}
