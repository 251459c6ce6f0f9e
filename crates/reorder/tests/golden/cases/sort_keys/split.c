// The loop is split, an array keeps the keys, and the second loop runs in their order.
// sort keys: yes
// expect: moves
// splits: yes
// server: sqlite
#include "shop.h"

struct input {
    int count;
    int amount[15];
    int shop[15];
};

int order(struct db *db, struct input *in)
{
    long region;

    db_begin(db);
    for (int i = 0; i < in->count; i++) {
        region = db_number(db, "SELECT s_region FROM shop WHERE s_id = $1", in->shop[i]);
        if (db_format(db, "UPDATE region SET r_total = r_total + %d WHERE r_id = %ld",
                      in->amount[i], region))
            goto fail;
    }
    if (db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 1"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
