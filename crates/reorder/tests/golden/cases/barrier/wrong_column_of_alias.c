// expect: unchanged
// keeps: barrier, `c.c_nme`; did you mean `c_name`?
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE item SET i_name = (SELECT c.c_nme FROM customer c LIMIT 1) WHERE i_id = 2");
    db_commit(db);
}
