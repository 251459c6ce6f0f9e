// A caller in another file may try again, with the sum of the attempt that failed.
// server: sqlite
// expect: unchanged
// keeps: outside effect, a later call reads what `k` leads to
#include "shop.h"

struct cart {
    int item;
    long total;
};

int pay(struct db *db, struct cart *k)
{
    long price = 0;

    db_begin(db);
    price = db_number(db, "SELECT i_price FROM item WHERE i_id = ?", k->item);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    k->total += price;
    if (db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
