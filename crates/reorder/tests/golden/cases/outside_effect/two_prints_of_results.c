// The outputs keep their order, and with them the queries.
// isolation: serializable
// expect: unchanged
// keeps: outside effect
#include <stdio.h>

#include "shop.h"

void show(struct db *db)
{
    db_begin(db);
    printf("%ld\n", db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE"));
    printf("%ld\n", db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2"));
    db_commit(db);
}
