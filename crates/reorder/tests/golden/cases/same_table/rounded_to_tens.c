// A negative scale rounds to tens: the read finds the new row.
// schema: CREATE TABLE tens (t_id NUMERIC(3, -1) PRIMARY KEY, t_sum INTEGER);
// expect: unchanged
// keeps: same table, `tens`
#include "shop.h"

long pay(struct db *db)
{
    long total;

    db_begin(db);
    db_run(db, "INSERT INTO tens VALUES (12, 0)");
    total = db_number(db, "SELECT t_sum FROM tens WHERE t_id = 10");
    db_commit(db);
    return total;
}
