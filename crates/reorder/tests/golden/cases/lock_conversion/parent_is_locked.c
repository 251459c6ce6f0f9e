// MySQL checks the foreign key with a shared lock on the shop: before the update of the same row,
// two transactions would wait for each other.
// server: mysql
// expect: unchanged
// keeps: lock conversion, it would lock rows of `shop` shared first
#include "shop.h"

void join(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE shop SET s_count = s_count + 1 WHERE s_id = 1");
    db_run(db, "INSERT INTO customer VALUES (9, 1, 'new', 'a@b', 0, 0)");
    db_commit(db);
}
