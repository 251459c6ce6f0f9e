// Two constants name two rows.
// expect: moves
#include "shop.h"

long pay(struct db *db, int amount)
{
    long total;

    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = s_total + $1 WHERE s_id = 1", amount);
    total = db_number(db, "SELECT s_total FROM shop WHERE s_id = 2");
    db_commit(db);
    return total;
}
