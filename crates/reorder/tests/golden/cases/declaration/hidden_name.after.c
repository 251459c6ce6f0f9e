// The inner `id` is another variable than the parameter.
// expect: moves
#include "shop.h"

void visit(struct db *db, long id)
{
    db_begin(db);
    {
        long id = 2;
        db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = $1", id);
    }
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = $1", id);
    db_commit(db);
}
