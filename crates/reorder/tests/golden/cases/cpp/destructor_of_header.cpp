// The header defines what the object does at its end, and no call makes it.
// function: pay
// expect: unchanged
// keeps: barrier, destructor runs where
#include "shop.h"
#include "shop_cpp.h"

void pay(db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    {
        Ledger ledger{db};
        (void)ledger;
    }
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
