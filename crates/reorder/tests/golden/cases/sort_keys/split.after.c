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
    long region_at[15];
    for (int i = 0; i < in->count; i++) {
        region = db_number(db, "SELECT s_region FROM shop WHERE s_id = $1", in->shop[i]);
        region_at[i] = region;
    }
    int sorted_i[15];
    int sorted_count;
    sorted_count = 0;
    for (int i = 0; i < in->count; i++) {
        int sorted_at = sorted_count++;
        for (; sorted_at > 0 && region_at[sorted_i[sorted_at - 1]] > region_at[i]; sorted_at--)
            sorted_i[sorted_at] = sorted_i[sorted_at - 1];
        sorted_i[sorted_at] = i;
    }
    for (int sorted_next = 0; sorted_next < sorted_count; sorted_next++) {
        int i = sorted_i[sorted_next];
        region = region_at[i];
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
