// The markers name the transaction; what stands outside of them stays.
// expect: moves
#include <clearway_transaction.h>

#include "shop.h"

void pay(struct db *db)
{
    db_run(db, "UPDATE shop SET s_count = s_count + 1 WHERE s_id = 1");
    BEGIN_TRANSACTION
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    END_TRANSACTION
    db_run(db, "UPDATE item SET i_stock = i_stock + 1 WHERE i_id = 3");
}
