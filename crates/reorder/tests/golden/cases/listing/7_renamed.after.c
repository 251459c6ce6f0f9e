// Listing 7 of the paper: with another variable, the last query moves before the update.
// isolation: serializable
// expect: moves
#include "shop.h"

long rename(struct db *db)
{
    long v, v_r;

    db_begin(db);
    v = db_number(db, "SELECT s_count FROM shop WHERE s_id = 1");
    v_r = v;
    v_r = db_number(db, "SELECT c_balance FROM customer WHERE c_id = $1", v_r);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", v);
    db_commit(db);
    return v_r;
}
