// The first query removes what would forbid the cascade of the second.
// schema: CREATE TABLE visit (v_id INTEGER PRIMARY KEY, v_shop INTEGER NOT NULL REFERENCES shop (s_id) ON DELETE CASCADE);
// schema: CREATE TABLE bill (b_id INTEGER PRIMARY KEY, b_visit INTEGER NOT NULL REFERENCES visit (v_id));
// schema: CREATE TABLE a1 (x INTEGER REFERENCES bill (b_id));
// schema: CREATE TABLE a2 (x INTEGER REFERENCES a1 (x));
// schema: CREATE TABLE a3 (x INTEGER REFERENCES a2 (x));
// schema: CREATE TABLE a4 (x INTEGER REFERENCES a3 (x));
// expect: unchanged
// keeps: trigger, `shop`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "DELETE FROM bill WHERE b_visit = 4");
    db_run(db, "DELETE FROM shop WHERE s_id = 1");
    db_commit(db);
}
