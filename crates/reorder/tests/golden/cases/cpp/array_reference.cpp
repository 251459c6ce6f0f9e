// The loop over the items is one unit.
// expect: moves
#include "shop.h"

void pay(db *db, const int (&items)[3])
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    for (int i = 0; i < 3; i++)
        db_run(db, "UPDATE item SET i_stock = i_stock - 1 WHERE i_id = $1", items[i]);
    db_commit(db);
}
