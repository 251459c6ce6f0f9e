// A function of the file uses another connection than its caller does.
// expect: unchanged
#include "shop.h"

struct store {
    struct db *db;
    struct db *other;
};

static int pay_region(const struct store *from, long region)
{
    return db_run(from->other, "UPDATE region SET r_total = r_total + 1 WHERE r_id = $1", region);
}

static int count_visit(struct db *db, long customer)
{
    return db_run(db, "INSERT INTO sale VALUES (1, $1, 1, 'x')", customer);
}

int visit(struct store *store, long region, long customer)
{
    db_begin(store->db);
    if (pay_region(store, region) != 0)
        goto fail;
    if (count_visit(store->db, customer) != 0)
        goto fail;
    db_commit(store->db);
    return 0;
fail:
    db_rollback(store->db);
    return -1;
}
