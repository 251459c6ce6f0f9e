// A row that is inserted by a view gets the defaults of the table.
// schema: CREATE SEQUENCE number; CREATE TABLE tag (id integer PRIMARY KEY, v bigint DEFAULT nextval('number'));
// schema: CREATE VIEW tags AS SELECT id FROM tag;
// expect: unchanged
// keeps: function
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = nextval('number') WHERE r_id = 1");
    db_run(db, "INSERT INTO tags (id) VALUES (3)");
    db_commit(db);
}
