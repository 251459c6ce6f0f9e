// `NOT REGEXP` calls the function of the program, too.
// server: sqlite
// expect: unchanged
// keeps: function, `regexp`
#include "shop.h"

long pay(struct db *db)
{
    long found;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = 1 WHERE r_id = 1");
    found = db_number(db, "SELECT count(*) FROM customer WHERE c_name NOT REGEXP 'a'");
    db_commit(db);
    return found;
}
