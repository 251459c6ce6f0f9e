// The key leads to the table that the row's partition belongs to.
// schema: CREATE TABLE stay (y_id INTEGER PRIMARY KEY) PARTITION BY RANGE (y_id);
// schema: CREATE TABLE stay1 PARTITION OF stay FOR VALUES FROM (1) TO (99);
// schema: CREATE TABLE bill (b_stay INTEGER NOT NULL REFERENCES stay (y_id));
// expect: unchanged
// keeps: foreign key, `bill`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "INSERT INTO stay1 VALUES (1)");
    db_run(db, "INSERT INTO bill VALUES (1)");
    db_commit(db);
}
