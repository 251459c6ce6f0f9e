// Listing 9 of the paper: the code of Listing 8 with two variables more. The query of `v_r1` alone
// could move; `v_r2` joins both.
// isolation: serializable
// expect: unchanged
#include "shop.h"

void define(struct db *db, int condition)
{
    long v, v_r1, v_r2;

    db_begin(db);
    v = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    v_r2 = v;
    if (condition) {
        v_r1 = db_number(db, "SELECT s_total FROM shop WHERE s_id = 2");
        v_r2 = v_r1;
    }
    db_run(db, "UPDATE customer SET c_balance = $1 WHERE c_id = 3", v_r2);
    db_commit(db);
}
