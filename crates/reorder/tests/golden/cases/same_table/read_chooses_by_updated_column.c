// The query reads another column, but chooses the row by the column that the update assigns.
// expect: unchanged
// keeps: same table, both use the table `shop`
#include "shop.h"

long pay(struct db *db, int amount)
{
    long region;

    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = s_total + $1 WHERE s_id = 1", amount);
    region = db_number(db, "SELECT s_region FROM shop ORDER BY s_total LIMIT 1");
    db_commit(db);
    return region;
}
