// `lower` and `coalesce` depend on their arguments alone.
// expect: moves
#include "shop.h"

long pay(struct db *db)
{
    long id;

    db_begin(db);
    id = db_number(db, "SELECT coalesce(max(c_id), 0) FROM customer WHERE lower(c_name) = 'ann'");
    db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = 1");
    db_commit(db);
    return id;
}
