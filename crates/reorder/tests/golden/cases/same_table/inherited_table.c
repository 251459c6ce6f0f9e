// A query of `shop` reads the rows of the tables that inherit from it.
// schema: CREATE TABLE stall (t_days INTEGER) INHERITS (shop);
// expect: unchanged
#include "shop.h"

long pay(struct db *db)
{
    long total;

    db_begin(db);
    db_run(db, "UPDATE stall SET s_total = s_total + 1 WHERE s_id = 1");
    total = db_number(db, "SELECT sum(s_total) FROM shop");
    db_commit(db);
    return total;
}
