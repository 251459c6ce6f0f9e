// The method writes what its argument points to, not its object.
// function: pay
// server: sqlite
// expect: unchanged
// keeps: write after read
#include "shop.h"

class Counter {
public:
    void next(int *value) const { *value = *value * 2; }
};

int pay(db *connection, const Counter &counter, int amount)
{
    int value = amount;

    db_begin(connection);
    if (db_run(connection, "UPDATE region SET r_total = r_total + ? WHERE r_id = 1", value)) {
        db_rollback(connection);
        return 1;
    }
    counter.next(&value);
    if (db_run(connection, "UPDATE customer SET c_balance = ? WHERE c_id = 2", value)) {
        db_rollback(connection);
        return 2;
    }
    db_commit(connection);
    return 0;
}
