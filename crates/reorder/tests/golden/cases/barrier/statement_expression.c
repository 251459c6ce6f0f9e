// The tool does not follow statements within an expression.
// expect: unchanged
// keeps: barrier
#include "shop.h"

#define SQUARE(n) ({ int m_ = (n); m_ * m_; })

void pay(struct db *db, int n)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", n);
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", SQUARE(n));
    db_commit(db);
}
