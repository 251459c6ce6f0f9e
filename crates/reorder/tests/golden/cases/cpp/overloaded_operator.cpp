// The operator counts its calls.
// expect: unchanged
#include "shop.h"

static long calls;

struct Money {
    long cents;
    Money operator-() const { return Money{-cents + ++calls}; }
};

void pay(db *db, Money amount)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", (-amount).cents);
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", (-amount).cents);
    db_commit(db);
}
