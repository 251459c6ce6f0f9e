// Code that the tool does not look into, in front of the transaction, takes the address.
// expect: unchanged
// keeps: write after read, it writes `visits`
#include "shop.h"

void pay(struct db *db)
{
    long visits = 0;
    long *visited = ({ long *found; found = &visits; found; });

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", visits);
    *visited = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", visits);
    db_commit(db);
}
