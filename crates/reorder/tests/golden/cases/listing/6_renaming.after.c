// Listing 6 of the paper: the last query may move before the update only if `v` is renamed in it.
// Listing 7 copies `v` first; the last query reads and writes by tokens of their own, so that no
// copy is needed.
// isolation: serializable
// renames: yes
// expect: moves
#include "shop.h"

long rename(struct db *db)
{
    long v, v_r1;

    db_begin(db);
    v = db_number(db, "SELECT s_count FROM shop WHERE s_id = 1");
    v_r1 = db_number(db, "SELECT c_balance FROM customer WHERE c_id = $1", v);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", v);
    db_commit(db);
    return v_r1;
}
