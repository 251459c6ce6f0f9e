// The check waits for the commit, but the tool keeps the order nevertheless.
// expect: unchanged
// schema: CREATE TABLE visit (v_item INTEGER REFERENCES item (i_id) DEFERRABLE INITIALLY DEFERRED);
// keeps: foreign key, a foreign key leads from `visit` to `item`
#include "shop.h"

void discard(struct db *db)
{
    db_begin(db);
    db_run(db, "DELETE FROM item WHERE i_id = 5");
    db_run(db, "INSERT INTO visit VALUES (6)");
    db_commit(db);
}
