// Deleting the item deletes its visits, which the query counts.
// expect: unchanged
// schema: CREATE TABLE visit (v_item INTEGER REFERENCES item (i_id) ON DELETE CASCADE);
// keeps: trigger, `item`
#include "shop.h"

long discard(struct db *db)
{
    long count;

    db_begin(db);
    db_run(db, "DELETE FROM item WHERE i_id = 5");
    count = db_number(db, "SELECT count(*) FROM visit");
    db_commit(db);
    return count;
}
