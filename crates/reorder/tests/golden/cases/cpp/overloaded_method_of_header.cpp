// One overload of the method is defined in the file, and the other one elsewhere.
// function: Register::pay
// expect: unchanged
// keeps: barrier, calls `Register::note(
#include "shop_cpp.h"

int Register::note(int amount)
{
    return db_run(db_, "UPDATE item SET i_stock = i_stock - $1 WHERE i_id = 3", amount);
}

int Register::pay(int amount)
{
    db_begin(db_);
    db_run(db_, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount);
    note(5L + amount);
    db_run(db_, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = 2", amount);
    db_commit(db_);
    return 0;
}
