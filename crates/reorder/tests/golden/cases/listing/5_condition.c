// The condition of Listing 1 that Listing 5 of the paper splits. Conditions are not split yet: the
// update of the region keeps its place between what both branches do.
// isolation: serializable
// expect: not yet, conditions are not split
#include "shop.h"

void condition(struct db *db, const char *credit, long id, long w_id)
{
    db_begin(db);
    if (credit[0] == 'G') {
        db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = $2", w_id, id);
        db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = $2", w_id, id);
    } else {
        id = w_id + id;
        db_run(db, "UPDATE customer SET c_visits = 0 WHERE c_id = $1", id);
    }
    db_commit(db);
}
