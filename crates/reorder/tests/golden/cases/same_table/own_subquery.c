// The query names row 2, and its subquery reads all rows.
// expect: unchanged
// keeps: same table, both use the table `shop`
#include "shop.h"

long pay(struct db *db)
{
    long total;

    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = 1");
    total = db_number(db, "SELECT s_total + (SELECT sum(s_total) FROM shop) FROM shop "
                          "WHERE s_id = 2");
    db_commit(db);
    return total;
}
