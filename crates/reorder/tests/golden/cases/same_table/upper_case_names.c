// MySQL's names of columns have no case, and the tool takes those of tables to have none.
// server: mysql
// expect: unchanged
// keeps: same table, both use the table `shop`
#include "shop.h"

long pay(struct db *db)
{
    long total;

    db_begin(db);
    db_run(db, "UPDATE `Shop` SET S_TOTAL = 5 WHERE s_id = 1");
    total = db_number(db, "SELECT s_total FROM SHOP WHERE s_id = 1");
    db_commit(db);
    return total;
}
