// Behind the declaration `steps` is a number, before it a function.
// expect: unchanged
#include "shop.h"

long steps(void);

void visit(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", steps());
    long steps = 2;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", steps);
    db_commit(db);
}
