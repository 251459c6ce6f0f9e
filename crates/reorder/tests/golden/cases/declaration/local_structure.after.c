// The type must be declared before the variable of the type.
// expect: moves
#include "shop.h"

void visit(struct db *db)
{
    db_begin(db);
    struct visit {
        int count;
    };
    struct visit one = {4};
    db_run(db, "UPDATE customer SET c_visits = c_visits + $1 WHERE c_id = 2", one.count);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_commit(db);
}
