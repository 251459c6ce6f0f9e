// Each run of the loop updates the region with the number from the run before.
// expect: unchanged
#include "shop.h"

void visit(struct db *db, int count)
{
    long n = 0;

    db_begin(db);
    for (int i = 0; i < count; i++) {
        db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", n);
        n = db_number(db, "SELECT c_balance FROM customer WHERE c_id = $1", (long)i);
    }
    db_commit(db);
}
