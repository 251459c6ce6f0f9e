// The comma operator writes `n` before the condition reads it.
// expect: unchanged
// keeps: read after write, it writes `n`
#include "shop.h"

void visit(struct db *db, int flag)
{
    long n = 0;

    db_begin(db);
    flag ? (n = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE"), n++) : 0;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", flag ? n : 1);
    db_commit(db);
}
