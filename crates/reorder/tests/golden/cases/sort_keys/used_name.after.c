// The names of the source are not used again.
// sort keys: yes
// expect: moves
#include "shop.h"

struct input {
    int count;
    int amount[15];
    int shop[15];
};

int order(struct db *db, struct input *in)
{
    int sorted_i = 3, sorted_at = 1;
    long region[15];

    db_begin(db);
    for (int i = 0; i < in->count; i++) {
        region[i] = db_number(db, "SELECT s_region FROM shop WHERE s_id = $1", in->shop[i]);
    }
    int sorted_i2[15];
    int sorted_count;
    sorted_count = 0;
    for (int i = 0; i < in->count; i++) {
        int sorted_at2 = sorted_count++;
        for (; sorted_at2 > 0 && region[sorted_i2[sorted_at2 - 1]] > region[i]; sorted_at2--)
            sorted_i2[sorted_at2] = sorted_i2[sorted_at2 - 1];
        sorted_i2[sorted_at2] = i;
    }
    for (int sorted_next = 0; sorted_next < sorted_count; sorted_next++) {
        int i = sorted_i2[sorted_next];
        if (db_format(db, "UPDATE region SET r_total = r_total + %d WHERE r_id = %ld",
                      in->amount[i], region[i]))
            goto fail;
    }
    if (sorted_i == sorted_at)
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
