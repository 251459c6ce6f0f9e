// Behind the declaration `id` means the local variable, before it the global one.
// expect: unchanged
// keeps: declaration
#include "shop.h"

long id = 1;

void visit(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = $1", id);
    long id = 2;
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = $1", id);
    db_commit(db);
}
