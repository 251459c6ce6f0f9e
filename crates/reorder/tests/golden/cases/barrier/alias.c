// `visits` is `total` by another name.
// expect: unchanged
// keeps: barrier, another name of a variable
#include "shop.h"

long total;
extern long visits __attribute__((alias("total")));

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", total);
    visits = 5;
    db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    db_commit(db);
}
