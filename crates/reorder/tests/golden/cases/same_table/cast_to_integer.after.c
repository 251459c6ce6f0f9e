// A cast to a type of integers leaves an integer as it is.
// expect: moves
#include "shop.h"

long pay(struct db *db)
{
    long total;

    db_begin(db);
    total = db_number(db, "SELECT s_total FROM shop WHERE s_id = CAST((2) AS integer)");
    db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = 1::bigint");
    db_commit(db);
    return total;
}
