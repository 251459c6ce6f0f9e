// The method keeps the connection in the object.
// function: Shop::pay
// expect: moves
#include "shop.h"

class Shop {
public:
    explicit Shop(db *connection) : db_(connection) {}
    void pay(int amount);

private:
    db *db_;
};

void Shop::pay(int amount)
{
    db_begin(db_);
    db_run(db_, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = 2", amount);
    db_run(db_, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount);
    db_commit(db_);
}
