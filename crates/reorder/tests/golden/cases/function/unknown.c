// The schema does not define `bonus`: it may read any table.
// expect: unchanged
// keeps: function, `bonus`, which may use any table
#include "shop.h"

long pay(struct db *db)
{
    long bonus;

    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = 1");
    bonus = db_number(db, "SELECT bonus(c_id) FROM customer WHERE c_id = 2");
    db_commit(db);
    return bonus;
}
