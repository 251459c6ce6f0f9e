// Deleting the item sets the references of its visits to null.
// schema: CREATE TABLE visit (v_id INTEGER, v_item INTEGER REFERENCES item (i_id) ON DELETE SET NULL);
// expect: unchanged
#include "shop.h"

long discard(struct db *db)
{
    long count;

    db_begin(db);
    db_run(db, "DELETE FROM item WHERE i_id = 5");
    count = db_number(db, "SELECT count(*) FROM visit WHERE v_item IS NULL");
    db_commit(db);
    return count;
}
