// Each access of a volatile variable is an effect that others may see.
// expect: unchanged
// isolation: serializable
#include "shop.h"

volatile long first, second;

void find(struct db *db)
{
    db_begin(db);
    first = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    second = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    db_commit(db);
}
