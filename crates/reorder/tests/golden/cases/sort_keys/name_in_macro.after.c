// The expansion of `AMOUNT` uses a global variable that has a generated name.
// sort keys: yes
// expect: moves
#include "counters.h"
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
    for (int i = 0; i < in->count; i++) {
        region[i] = db_number(db, "SELECT s_region FROM shop WHERE s_id = $1", in->shop[i]);
    }
    int sorted_i[15];
    int sorted_count;
    sorted_count = 0;
    for (int i = 0; i < in->count; i++) {
        int sorted_at = sorted_count++;
        for (; sorted_at > 0 && region[sorted_i[sorted_at - 1]] > region[i]; sorted_at--)
            sorted_i[sorted_at] = sorted_i[sorted_at - 1];
        sorted_i[sorted_at] = i;
    }
    for (int sorted_next2 = 0; sorted_next2 < sorted_count; sorted_next2++) {
        int i = sorted_i[sorted_next2];
        if (db_format(db, "UPDATE region SET r_total = r_total + %ld WHERE r_id = %ld",
                      AMOUNT, region[i]))
            goto fail;
    }
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
