// schema: CREATE TABLE quota (q_id INTEGER PRIMARY KEY, q_used INTEGER, CONSTRAINT c CHECK (abs(q_used) < 9 AND mod(q_used, 2) = 0));
// expect: moves
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE quota SET q_used = q_used + 1 WHERE q_id = 2");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_commit(db);
}
