// The update of the view changes its table.
// schema: CREATE VIEW rich AS SELECT s_id, s_total FROM shop WHERE s_total > 100;
// expect: unchanged
// keeps: same table, both use the table `shop`
#include "shop.h"

long pay(struct db *db)
{
    long total;

    db_begin(db);
    db_run(db, "UPDATE rich SET s_total = s_total + 1 WHERE s_id = 1");
    total = db_number(db, "SELECT s_total FROM shop WHERE s_id = 1");
    db_commit(db);
    return total;
}
