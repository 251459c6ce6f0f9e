// The partition has a key of its own: one row frees the name that the other takes.
// schema: CREATE TABLE stay (y_id INTEGER PRIMARY KEY, y_name VARCHAR(30)) PARTITION BY RANGE (y_id);
// schema: CREATE TABLE stay1 PARTITION OF stay FOR VALUES FROM (1) TO (99);
// schema: CREATE UNIQUE INDEX stay1_name ON stay1 (y_name);
// schema: CREATE TABLE b1 (x INTEGER REFERENCES stay (y_id));
// expect: unchanged
// keeps: same table, `stay`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE stay SET y_name = 'b' WHERE y_id = 1");
    db_run(db, "UPDATE stay SET y_name = 'a' WHERE y_id = 2");
    db_commit(db);
}
