// The macro names the global variable where it is used.
// expect: unchanged
#include "shop.h"

long id = 1;
#define ID (id + 1)

void visit(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", ID);
    long id = 2;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", id);
    db_commit(db);
}
