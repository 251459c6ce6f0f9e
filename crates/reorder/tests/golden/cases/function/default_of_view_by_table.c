// `ALTER TABLE` gives the column of a view a default, too.
// schema: CREATE SEQUENCE number; CREATE TABLE tag (id integer PRIMARY KEY, v bigint);
// schema: CREATE VIEW tags AS SELECT id, v FROM tag;
// schema: ALTER TABLE tags ALTER v SET DEFAULT nextval('number');
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
