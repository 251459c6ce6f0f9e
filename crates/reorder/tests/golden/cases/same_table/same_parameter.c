// Both use the same key: one row.
// expect: unchanged
// keeps: same table, both use the table `shop`
#include "shop.h"

long pay(struct db *db, long id)
{
    long total;

    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = $1", id);
    total = db_number(db, "SELECT s_total FROM shop WHERE s_id = $1 - 1", id + 1);
    db_commit(db);
    return total;
}
