// expect: moves
#include "shop.h"

void visit(struct db *db, long n)
{
    db_begin(db);
    typedef int count;
    db_run(db, "UPDATE customer SET c_visits = c_visits + $1 WHERE c_id = 2", (count)n);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_commit(db);
}
