// Each helper runs one query.
// function: visit
// expect: moves
#include "shop.h"

static void update_region(struct db *db, int amount)
{
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", amount);
}

static void update_customer(struct db *db, int amount)
{
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", amount);
}

void visit(struct db *db, int amount)
{
    db_begin(db);
    update_customer(db, amount);
    update_region(db, amount);
    db_commit(db);
}
