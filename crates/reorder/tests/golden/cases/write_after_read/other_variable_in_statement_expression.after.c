// Code that the tool does not look into does not name `visits`.
// expect: moves
#include "shop.h"

void pay(struct db *db)
{
    long visits = 0, other = 0;
    long *visited = ({ long *found; found = &other; found; });

    db_begin(db);
    *visited = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", other);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", visits);
    db_commit(db);
}
