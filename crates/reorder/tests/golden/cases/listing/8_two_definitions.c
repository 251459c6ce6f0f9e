// Listing 8 of the paper: both definitions of `v` reach the last update, so they share a name. The
// copies of Listing 9 would keep the order too: `v_r2` is written by both.
// isolation: serializable
// renames: yes
// expect: unchanged
// keeps: write after write, both write `v`
#include "shop.h"

void define(struct db *db, int condition)
{
    long v;

    db_begin(db);
    v = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    if (condition)
        v = db_number(db, "SELECT s_total FROM shop WHERE s_id = 2");
    db_run(db, "UPDATE customer SET c_balance = $1 WHERE c_id = 3", v);
    db_commit(db);
}
