// The insert needs the parent row to exist; the update does not change its key.
// expect: moves
#include "shop.h"

void join(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE shop SET s_count = s_count + 1 WHERE s_id = 1");
    db_run(db, "INSERT INTO customer VALUES (9, 1, 'new', 'a@b', 0, 0)");
    db_commit(db);
}
