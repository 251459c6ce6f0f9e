// 2 and 3 are both true, and so both 1.
// expect: unchanged
// keeps: same table, `shop`
#include "shop.h"

long pay(struct db *db)
{
    long total;

    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = 2::boolean::integer");
    total = db_number(db, "SELECT s_total FROM shop WHERE s_id = CAST(CAST(3 AS boolean) AS integer)");
    db_commit(db);
    return total;
}
