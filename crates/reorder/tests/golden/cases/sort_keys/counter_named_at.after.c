// The generated names differ from each other.
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
    long region[15];

    db_begin(db);
    for (int at = 0; at < in->count; at++) {
        region[at] = db_number(db, "SELECT s_region FROM shop WHERE s_id = $1", in->shop[at]);
    }
    int sorted_at[15];
    int sorted_count;
    sorted_count = 0;
    for (int at = 0; at < in->count; at++) {
        int sorted_at2 = sorted_count++;
        for (; sorted_at2 > 0 && region[sorted_at[sorted_at2 - 1]] > region[at]; sorted_at2--)
            sorted_at[sorted_at2] = sorted_at[sorted_at2 - 1];
        sorted_at[sorted_at2] = at;
    }
    for (int sorted_next = 0; sorted_next < sorted_count; sorted_next++) {
        int at = sorted_at[sorted_next];
        if (db_format(db, "UPDATE region SET r_total = r_total + %d WHERE r_id = %ld",
                      in->amount[at], region[at]))
            goto fail;
    }
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
