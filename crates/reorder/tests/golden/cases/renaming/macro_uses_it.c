// The macro's definition mentions `v`, so that no token of the function stands for this use.
// isolation: serializable
// renames: yes
// expect: unchanged
// not renamed: a macro's definition uses it
#include "shop.h"

#define OLDER (v - 1)

void pay(struct db *db)
{
    long v;

    db_begin(db);
    v = db_number(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 1 RETURNING c_shop");
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", v);
    v = db_number(db, "SELECT c_visits FROM customer WHERE c_id = $1", 1);
    db_run(db, "UPDATE item SET i_stock = $1 WHERE i_id = 1", OLDER);
    db_commit(db);
}
