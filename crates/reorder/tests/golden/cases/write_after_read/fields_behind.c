// The call writes `count` and all fields behind it.
// expect: unchanged
// keeps: write after read, it writes what `order` leads to
#include <stddef.h>
#include <string.h>

#include "shop.h"

struct order {
    long id, count;
    char name[8];
    long total;
};

void pay(struct db *db, struct order *order)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", order->total);
    memset(&order->count, 0, sizeof *order - offsetof(struct order, count));
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", order->count);
    db_commit(db);
}
