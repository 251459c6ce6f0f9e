// Listing 5 of the paper: the condition, split by hand. The update of the region goes last.
// isolation: serializable
// expect: moves
#include "shop.h"

void condition(struct db *db, const char *credit, long id, long w_id)
{
    long other;

    db_begin(db);
    if (credit[0] == 'G') {
        db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = $2", w_id, id);
    }
    if (!(credit[0] == 'G')) {
        other = w_id + id;
        db_run(db, "UPDATE customer SET c_visits = 0 WHERE c_id = $1", other);
    }
    db_commit(db);
}
