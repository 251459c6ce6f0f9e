// One row leaves the time that the other takes.
// schema: CREATE TABLE stay (y_id INTEGER PRIMARY KEY, y_time TSRANGE, EXCLUDE USING gist (y_time WITH &&));
// expect: unchanged
// keeps: same table, `stay`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE stay SET y_time = NULL WHERE y_id = 1");
    db_run(db, "UPDATE stay SET y_time = '[2020-01-01,2021-01-01)' WHERE y_id = 2");
    db_commit(db);
}
