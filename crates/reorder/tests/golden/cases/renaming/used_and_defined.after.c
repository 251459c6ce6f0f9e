// The paper's second special case: one statement uses and defines `v`, by tokens of their own.
// isolation: serializable
// renames: yes
// expect: moves
#include "shop.h"

void pay(struct db *db, long n)
{
    long v, v_r1;

    db_begin(db);
    v = n * 3;
    v_r1 = v + 1;
    db_run(db, "UPDATE customer SET c_balance = $1 WHERE c_id = 2", v_r1);
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", v);
    db_commit(db);
}
