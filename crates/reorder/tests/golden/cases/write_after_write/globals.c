// expect: unchanged
// isolation: serializable
// keeps: write after write, both write `last`
#include "shop.h"

long last;

void find(struct db *db)
{
    db_begin(db);
    last = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    last = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    db_commit(db);
}
