// The file defines both overloads, and neither has a summary.
// function: pay
// expect: not yet, functions of one name are not told apart within a file
// keeps: barrier, a name that several functions have
#include "shop_cpp.h"

static int stock(db *connection, int amount)
{
    return db_run(connection, "UPDATE item SET i_stock = i_stock - $1 WHERE i_id = 3", amount);
}

static int stock(db *connection, long amount)
{
    return db_run(connection, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount);
}

int pay(db *connection, int amount)
{
    db_begin(connection);
    stock(connection, 5L);
    stock(connection, amount);
    db_run(connection, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = 2", amount);
    db_commit(connection);
    return 0;
}
