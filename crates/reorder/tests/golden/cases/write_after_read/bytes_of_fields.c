// Each call writes one field, of which no query before it reads anything.
// expect: moves
#include <string.h>

#include "shop.h"

struct order {
    long id, count;
    char name[8];
    long total;
};

void pay(struct db *db, struct order *order, const char *name)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", order->total);
    strncpy(order->name, name, sizeof order->name - 1);
    memcpy(&order->count, name, sizeof order->count);
    memcpy(order->name, name, 8);
    db_run(db, "UPDATE customer SET c_name = $1 WHERE c_id = $2", order->name, order->count);
    db_commit(db);
}
