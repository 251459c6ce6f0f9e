// The new variable is declared behind the declarator of the old one.
// isolation: serializable
// renames: yes
// expect: moves
#include "shop.h"

long pay(struct db *db)
{
    long n = 1, v = 0, /* the visits */ *p = &n;

    db_begin(db);
    v = db_number(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 1 RETURNING c_shop");
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", v);
    v = db_number(db, "SELECT c_visits FROM customer WHERE c_id = $1", *p);
    db_run(db, "UPDATE item SET i_stock = $1 WHERE i_id = 1", v);
    db_commit(db);
    return v;
}
