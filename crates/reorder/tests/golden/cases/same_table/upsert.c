// expect: unchanged
// keeps: same table, both use the table `shop`
#include "shop.h"

long open_shop(struct db *db)
{
    long count;

    db_begin(db);
    db_run(db, "INSERT INTO shop VALUES (5, 1, 'new', 0, 0) "
               "ON CONFLICT (s_id) DO UPDATE SET s_count = shop.s_count + 1");
    count = db_number(db, "SELECT s_count FROM shop WHERE s_id = 5");
    db_commit(db);
    return count;
}
