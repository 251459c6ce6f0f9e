// The view reads customers only.
// expect: moves
// schema: CREATE VIEW poor AS SELECT c_id, c_balance FROM customer WHERE c_balance < 0;
#include "shop.h"

long pay(struct db *db)
{
    long count;

    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = 1");
    count = db_number(db, "SELECT count(*) FROM poor");
    db_commit(db);
    return count;
}
