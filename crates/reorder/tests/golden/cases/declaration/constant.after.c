// The constant is declared between the updates and used by the second.
// expect: moves
// keeps: declaration, `step` is declared
#include "shop.h"

void visit(struct db *db)
{
    db_begin(db);
    static const int step = 5;
    db_run(db, "UPDATE customer SET c_visits = c_visits + $1 WHERE c_id = 2", step);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_commit(db);
}
