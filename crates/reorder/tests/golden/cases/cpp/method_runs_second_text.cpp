// The method runs its second text, which reads the total of the region.
// function: pay
// server: sqlite
// expect: unchanged
#include "shop.h"

class Shop {
public:
    int run(db *connection, const char *note, const char *sql) const
    {
        return note ? db_run(connection, sql) : 0;
    }
};

int pay(db *connection, const Shop &shop)
{
    db_begin(connection);
    if (db_run(connection, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (shop.run(connection, "UPDATE item SET i_stock = 1", "UPDATE customer SET c_balance = (SELECT sum(r_total) FROM region)"))
        goto fail;
    if (db_run(connection, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
        goto fail;
    db_commit(connection);
    return 0;
fail:
    db_rollback(connection);
    return 1;
}
