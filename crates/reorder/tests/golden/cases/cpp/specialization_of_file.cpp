// The file specializes the template for one type, and the call is that of another one.
// function: pay
// expect: unchanged
// keeps: barrier
#include "shop_cpp.h"

template <> int count_all<int>(db *connection, int amount)
{
    return db_run(connection, "UPDATE item SET i_stock = i_stock - $1 WHERE i_id = 3", amount);
}

int pay(db *connection, long amount)
{
    db_begin(connection);
    db_run(connection, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount);
    count_all(connection, amount);
    db_run(connection, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = 2", amount);
    db_commit(connection);
    return 0;
}
