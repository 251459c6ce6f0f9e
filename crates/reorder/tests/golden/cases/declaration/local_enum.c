// The declaration of LIMIT must stay before the update that names it.
// expect: moves
#include "shop.h"

void visit(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    enum { LIMIT = 5 };
    db_run(db, "UPDATE customer SET c_visits = c_visits + $1 WHERE c_id = 2", LIMIT);
    db_commit(db);
}
