// expect: refused, must stand in the same list of statements
#include <clearway_transaction.h>

#include "shop.h"

void pay(struct db *db)
{
    BEGIN_TRANSACTION
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
}
