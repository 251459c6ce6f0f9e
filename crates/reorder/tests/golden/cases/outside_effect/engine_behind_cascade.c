// The cascade deletes rows that a rollback does not bring back.
// server: mysql
// schema: CREATE TABLE visit (v_id INTEGER PRIMARY KEY, v_item INTEGER, FOREIGN KEY (v_item) REFERENCES item (i_id) ON DELETE CASCADE) ENGINE=Aria;
// expect: unchanged
// keeps: barrier, the engine Aria
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "DELETE FROM item WHERE i_id = 2");
    db_commit(db);
}
