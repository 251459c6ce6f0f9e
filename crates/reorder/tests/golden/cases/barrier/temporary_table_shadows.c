// Behind its creation the name means the temporary table, which has no key.
// expect: unchanged
// keeps: barrier, a temporary table
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "CREATE TEMP TABLE item (i_id INTEGER, i_shop INTEGER, i_price INTEGER)");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE item SET i_price = i_price + 1 WHERE i_id = 3");
    db_commit(db);
}
