// The values could have names of their own, but no order would cost less.
// isolation: serializable
// renames: yes
// expect: unchanged
#include "shop.h"

long pay(struct db *db)
{
    long v;

    db_begin(db);
    v = db_number(db, "SELECT c_visits FROM customer WHERE c_id = 1");
    v = db_number(db, "SELECT c_balance FROM customer WHERE c_id = $1", v);
    v = db_number(db, "SELECT s_count FROM shop WHERE s_id = 1");
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", v);
    db_commit(db);
    return v;
}
