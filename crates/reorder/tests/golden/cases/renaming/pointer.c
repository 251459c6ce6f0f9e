// The paper's first special case: a pointer keeps its name.
// isolation: serializable
// renames: yes
// expect: unchanged
// not renamed: it is a pointer
#include "shop.h"

struct visits {
    long first, second;
};

void pay(struct db *db, struct visits *visits)
{
    long *p;

    db_begin(db);
    p = &visits->first;
    *p = db_number(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 1 RETURNING c_shop");
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", *p);
    p = &visits->second;
    *p = db_number(db, "SELECT c_visits FROM customer WHERE c_id = $1", 1);
    db_run(db, "UPDATE item SET i_stock = $1 WHERE i_id = 1", *p);
    db_commit(db);
}
